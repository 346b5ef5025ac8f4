#include "shared/queue/step_message.h"

#include <cstring>

#include "proto/step_message.pb.h"

namespace acl {

namespace {

constexpr std::uint32_t kStepMessageVersion = 1;
constexpr std::uint32_t kMostOfPriorityOrShard = 3;
constexpr std::size_t kLongestName = 200, kLongestTraceparent = 128;  // W3C version 00 has 55 characters

Error Bad(const std::string& why) { return {Code::kInvalid, "not a step message: " + why}; }

}  // namespace

StepMessage MessageFor(const DueRow& row) {
  StepMessage message;
  message.key = row.key;
  message.kind = row.kind;
  message.required_version = row.required_version;
  message.event_seq = row.event_seq;
  message.traceparent = row.traceparent;
  message.token = row.token;
  return message;
}

StepMessage MessageFor(const CreateItem& item, const CreateOutcome& made) {
  StepMessage message;
  message.key = {item.queue, item.priority, ReadyShard(item.subject), made.ready_at, item.subject};
  message.kind = item.kind;
  message.required_version = item.required_version;
  message.event_seq = std::int64_t(item.events.size());
  message.traceparent = item.traceparent;
  message.token = made.token;
  return message;
}

std::string EncodeStepMessage(const StepMessage& message) {
  queue::StepMessage out;
  out.set_schema_version(kStepMessageVersion);
  out.set_subject(message.key.subject.uuid.bytes.data(), message.key.subject.uuid.bytes.size());
  out.set_kind(message.kind);
  out.set_required_version(std::uint32_t(message.required_version));
  queue::ReadyKey& key = *out.mutable_ready();
  key.set_queue(message.key.queue);
  key.set_priority(std::uint32_t(message.key.priority));
  key.set_shard(std::uint32_t(message.key.shard));
  key.set_ready_at_us(MicrosOf(message.key.ready_at));
  out.set_event_seq(message.event_seq);
  out.set_fencing_token(message.token.value);
  out.set_traceparent(message.traceparent);
  return out.SerializeAsString();  // no maps in it: the bytes are the same each time
}

Result<StepMessage> DecodeStepMessage(std::string_view bytes) {
  queue::StepMessage in;
  if (!in.ParseFromArray(bytes.data(), int(bytes.size()))) return Bad("it is not protobuf");
  if (in.schema_version() == 0) return Bad("it has no schema version");
  if (in.subject().size() != 16) return Bad("its subject has " + std::to_string(in.subject().size()) + " bytes, not 16");
  if (!in.has_ready()) return Bad("it names no ready row");
  const queue::ReadyKey& key = in.ready();
  if (key.queue().empty() || key.queue().size() > kLongestName || in.kind().size() > kLongestName)
    return Bad("a name is missing or too long");
  if (in.traceparent().size() > kLongestTraceparent) return Bad("its trace context is too long");
  if (key.priority() > kMostOfPriorityOrShard || key.shard() > kMostOfPriorityOrShard) return Bad("there is no such priority or shard");
  if (key.ready_at_us() <= 0) return Bad("its time is out of range");
  if (in.required_version() > 1'000'000 || in.event_seq() < 0 || in.fencing_token() < 0) return Bad("a number is out of range");
  StepMessage out;
  std::memcpy(out.key.subject.uuid.bytes.data(), in.subject().data(), 16);
  out.kind = in.kind();
  out.required_version = int(in.required_version());
  out.key.queue = key.queue();
  out.key.priority = int(key.priority());
  out.key.shard = int(key.shard());
  out.key.ready_at = WallTimeFromMicros(key.ready_at_us());
  out.event_seq = in.event_seq();
  out.token = Token{in.fencing_token()};
  out.traceparent = in.traceparent();
  return out;
}

}  // namespace acl
