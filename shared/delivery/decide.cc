#include "shared/delivery/decide.h"

#include <algorithm>

namespace acl::delivery {

namespace {

constexpr int kGone = 410;

bool IsSuccess(int status) { return status >= 200 && status < 300; }

std::string FailureReason(const Answer& answer) {
  if (answer.status == 0) return answer.error.empty() ? "no answer" : answer.error;
  std::string why = "answered " + std::to_string(answer.status);
  if (answer.status >= 300 && answer.status < 400) why += " (a redirect is not followed: the endpoints file must say where it is)";
  return answer.error.empty() ? why : why + ": " + answer.error;
}

}  // namespace

std::string_view ChannelName(Channel channel) { return channel == Channel::kWebhook ? "webhook" : "kafka"; }
std::optional<Channel> ParseChannel(std::string_view name) {
  for (const Channel channel : {Channel::kWebhook, Channel::kKafka})
    if (ChannelName(channel) == name) return channel;
  return std::nullopt;
}

std::string_view StateName(State state) {
  switch (state) {
    case State::kPending: return "pending";
    case State::kDelivered: return "delivered";
    case State::kDead: return "dead";
    case State::kDiscarded: return "discarded";
  }
  return "";
}
std::optional<State> ParseState(std::string_view name) {
  for (const State state : {State::kPending, State::kDelivered, State::kDead, State::kDiscarded})
    if (StateName(state) == name) return state;
  return std::nullopt;
}

milliseconds WaitAfter(int failures, double unit) {
  const auto at = std::clamp<std::size_t>(std::size_t(std::max(failures, 1)) - 1, 0, kWaits.size() - 1);
  const auto wait = std::chrono::duration<double, std::milli>(kWaits[at]) * (0.8 + 0.4 * std::clamp(unit, 0.0, 1.0));
  return std::chrono::duration_cast<milliseconds>(wait);
}

Verdict Judge(const Answer& answer, int failures, double unit) {
  if (IsSuccess(answer.status)) return {State::kDelivered, failures, milliseconds(0), ""};
  const std::string why = FailureReason(answer);
  if (answer.ours) return {State::kPending, failures, milliseconds(0), why};
  const int now = failures + 1;
  if (answer.status == kGone) return {State::kDead, now, milliseconds(0), why + ": the receiver wants no more of these"};
  if (answer.for_good) return {State::kDead, now, milliseconds(0), why};
  if (now >= kMostFailures) return {State::kDead, now, milliseconds(0), why + ", the last of " + std::to_string(now) + " attempts"};
  return {State::kPending, now, std::max(WaitAfter(now, unit), answer.retry_after.value_or(milliseconds(0))), why};
}

}  // namespace acl::delivery
