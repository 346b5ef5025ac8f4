#include "shared/kafka/dead_letters.h"

#include <charconv>
#include <future>

#include "shared/base/clock.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/topic_reader.h"

namespace acl::kafka {

namespace {

constexpr const char* kReason = "acl-dead-reason";
constexpr const char* kTopic = "acl-dead-topic";
constexpr const char* kPartition = "acl-dead-partition";
constexpr const char* kOffset = "acl-dead-offset";
constexpr const char* kAt = "acl-dead-at";
constexpr const char* kCut = "acl-dead-cut";

std::string TakeHeader(std::map<std::string, std::string>& headers, const char* name) {
  auto it = headers.find(name);
  if (it == headers.end()) return "";
  std::string value = std::move(it->second);
  headers.erase(it);
  return value;
}

std::int64_t AsNumber(const std::string& text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Outgoing MakeDeadLetter(const std::string& prefix, const Received& message, const std::string& reason) {
  Outgoing out{DeadTopic(prefix), message.key, message.value, message.headers};
  out.headers[kReason] = reason;
  out.headers[kTopic] = message.topic;
  out.headers[kPartition] = std::to_string(message.partition);
  out.headers[kOffset] = std::to_string(message.offset);
  out.headers[kAt] = FormatWallTime(SystemClock().Wall());
  return out;
}

void CutDeadLetter(Outgoing& letter) {
  letter.headers.emplace(kCut, std::to_string(letter.value.size()));
  letter.value.resize(letter.value.size() / 2);
}

Result<std::vector<DeadLetter>> ReadDeadLetters(const FleetSettings& fleet, const ClientSettings& client,
                                                std::chrono::milliseconds within) {
  auto read = ReadTopic(client, DeadTopic(fleet.prefix), within);
  if (!read) return read.error();
  std::vector<DeadLetter> letters;
  for (Received& message : *read) {
    DeadLetter letter;
    letter.partition = message.partition;
    letter.offset = message.offset;
    letter.key = std::move(message.key);
    letter.value = std::move(message.value);
    letter.reason = TakeHeader(message.headers, kReason);
    letter.topic = TakeHeader(message.headers, kTopic);
    letter.from_partition = int(AsNumber(TakeHeader(message.headers, kPartition)));
    letter.from_offset = AsNumber(TakeHeader(message.headers, kOffset));
    letter.at = TakeHeader(message.headers, kAt);
    letter.headers = std::move(message.headers);
    letters.push_back(std::move(letter));
  }
  return letters;
}

Status ReplayDeadLetter(const ClientSettings& client, const DeadLetter& letter, std::chrono::milliseconds within) {
  if (letter.topic.empty()) return Error{Code::kInvalid, "the message does not say which topic it came from"};
  Producer::Options options;
  options.settings = client;
  options.give_up_after = within;
  std::promise<Status> answer;  // outlives the producer, which answers each message once
  Producer producer(std::move(options));
  if (Status started = producer.Start(); !started) return started;
  Status taken =
      producer.Send({letter.topic, letter.key, letter.value, letter.headers}, [&](Status sent) { answer.set_value(std::move(sent)); });
  if (!taken) return taken;
  return answer.get_future().get();
}

}  // namespace acl::kafka
