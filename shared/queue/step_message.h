#pragma once
// A message of the queue (proto/step_message.proto, docs/architecture.md#relay): it names a ready row and grants nothing.

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"
#include "shared/kernel/types.h"

namespace acl {

struct StepMessage {
  ReadyKey key;
  std::string kind;
  int required_version = 1;
  // Hints: as the database said when the message was made; 0 = not known.
  std::int64_t event_seq = 0;
  Token token;
  std::string traceparent;  // W3C; empty = none
};

StepMessage MessageFor(const DueRow& row);
// Of a subject that was made, if its row is known (`ready_at`).
StepMessage MessageFor(const CreateItem& item, const CreateOutcome& made);

// The same message gives the same bytes (golden in the tests).
std::string EncodeStepMessage(const StepMessage& message);

// Newer versions are read too; fields not known here are left out. kInvalid: not protobuf, no subject, no ready row, a priority or shard
// that cannot be, a time out of range. The reason is fit for a dead letter: it quotes nothing of the message.
Result<StepMessage> DecodeStepMessage(std::string_view bytes);

}  // namespace acl
