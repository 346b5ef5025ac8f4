#pragma once
// What clients and receivers saw, as JSON lines: the other half of the evidence, beside the database (README.md, "History").
//
// A history has, for each operation, a line when it was sent and a line when it ended:
//   {"op":"c1-17","type":"invoke","process":"c1","f":"signal","run":"0193..","key":"k17","mark":"m17","phase":"faults","at_ms":1234}
//   {"op":"c1-17","type":"ok","at_ms":1250}        ok: it was done; fail: it was refused, for certain; info: nobody knows
// An operation without its second line is `info`, and so is every type that is none of the three.
// A ledger is what a receiver of effects kept, in the order it happened:
//   {"key":"..","run":"..","scope":"run","step":"s3","token":4294967297,"payload_hash":"..","outcome":"applied"}   or deduped, refused

#include <istream>
#include <string>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::chaos {

struct History {
  Json operations = Json::array();  // one object an operation: the fields of both lines, `outcome` ok, fail or info
  std::string key_prefix;           // of {"type":"header","key_prefix":".."}: request keys that begin so are this history's
  std::string text;                 // as it was read, for what must stand nowhere in it
};
// kInvalid names the line.
Result<History> ReadHistory(std::istream& in);

struct Ledger {
  Json effects = Json::array();  // in order; `n` counts them
  std::string text;
};
Result<Ledger> ReadLedger(std::istream& in);

}  // namespace acl::chaos
