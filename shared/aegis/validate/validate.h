#pragma once
// The validator between a model's answer and the record (document 004, section 9). Deterministic: rules over words, ids and values, no
// model judges. It marks, and decides nothing: whether a class of drift blocks an answer is the kernel's word.
//
//   schema        the JSON that was demanded does not parse or does not fit; a demanded tool call was not made
//   evidence      an id that is not in this bundle; a quotation or a value that is not in it
//   authority     an act claimed or promised that no tool allows; a permission nobody gave; a tool, host or path that only an untrusted
//                 artifact named
//   tone          a person with a memory ("as I remember"), flattery, consent taken for granted
//   completeness  "no access" although sight has values; an observation claimed without values
//
// Each rule has a name (Finding::rule); docs/guides/aegis.md, "Drift", says what each looks for and how often it errs.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::aegis {

enum class DriftClass { kSchema, kEvidence, kAuthority, kTone, kCompleteness };
std::string_view NameOf(DriftClass drift);  // "schema", ...

// What a bundle holds: facts, recent turns, open items, tool executions.
struct SourceText {
  std::string id;  // "ledger:000183", "driftwatch:0042", "turn:...", "tool:..."
  std::string text;
  bool trusted = true;  // false: tool output, web, file, ticket
};

struct SightOf {
  std::string tool;
  bool available = false;
  Json values = Json::object();
  std::string reason;  // if it is not available
  std::vector<std::string> unknowns;
};

struct DeclaredTool {
  std::string name;
  bool observes = true;            // false: it changes something
  bool allowed = false;            // under this tier
  std::vector<std::string> verbs;  // what it does, as people say it: "restart"
  bool proposable = false;         // it acts: a call of it is a proposal, about which people are asked
};

// Whether the value fits the schema (ValidationInput::schema says of which words).
bool FitsSchema(const Json& schema, const Json& value);

struct ProposedCall {
  std::string name;
  Json arguments;
};

struct ValidationInput {
  std::string response;
  std::string user_input;
  std::vector<SourceText> sources;
  std::vector<SightOf> sight;
  bool sight_allowed = true;  // by the tier
  std::vector<DeclaredTool> tools;
  std::vector<std::string> done_verbs;       // acts that a receipt in this bundle proves: "restart"
  std::vector<std::string> permitted_verbs;  // acts the kernel's authority rules give
  bool json_demanded = false;
  std::optional<Json> schema;  // type, enum, const, required, properties, additionalProperties, items and the bounds of numbers and lengths
  bool tool_call_demanded = false;
  std::vector<ProposedCall> tool_calls;
};

struct Finding {
  DriftClass drift;
  std::string rule;     // "unknown_id"
  std::string place;    // "response@120": the byte where it begins; "call#0", "json/decision"
  std::string summary;  // "evidence unknown_id response@120 ledger:000999": for machines, at most 160 bytes
};

struct ValidationSummary {
  bool schema_ok = true;
  bool evidence_drift = false, authority_drift = false, tone_drift = false, completeness_drift = false;
  std::string notes;              // the rules that fired, with their counts: "tone:flattery*2"
  std::vector<Finding> findings;  // at most 50 of a class

  bool Has(DriftClass drift) const;
};

// Linear in the answer's and the bundle's length. The findings quote ids, names and numbers of the answer, never sentences; sanitise them
// like any text before they are stored.
ValidationSummary Scan(const ValidationInput& input);

// The six fields of document 004, 9.1, as they are stored in llm_exchange.validator_summary.
Json SummaryJson(const ValidationSummary& summary);

}  // namespace acl::aegis
