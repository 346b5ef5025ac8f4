#include "shared/capability/coordinator_door.h"

#include <fmt/format.h>

#include <future>
#include <thread>

#include "shared/capability/egress.h"
#include "shared/capability/handlers.h"

namespace acl {

namespace {

constexpr std::chrono::milliseconds kDoorPause{500},
    kDoorLook{20};                                   // between two questions under one key; between two looks at the stop token
constexpr std::size_t kDoorAnswerBytes = 32u << 20;  // an exchange as the API gives it, bundle and prompt with it

}  // namespace

Result<std::shared_ptr<CoordinatorDoor>> CoordinatorDoor::Make(const AskConfig& config) {
  HttpConfig http;
  http.max_redirects = 0;
  http.max_body_bytes = kDoorAnswerBytes;
  http.ca_file = config.ca_file;
  http.allow_private_networks = true;  // the operator names them
  std::vector<std::string> urls;
  for (std::string url : config.urls) {
    while (url.ends_with('/')) url.pop_back();
    const auto checked = CheckUrl(url, http);
    if (!checked) return Error{checked.code(), fmt::format("aegis_urls: {}: {}", url, checked.message())};
    const bool own = checked->host == "localhost" || NotPublicText(checked->host) == "loopback";
    if (!config.api_key.empty() && checked->scheme != "https" && !own)
      return Error{Code::kInvalid, fmt::format("aegis_urls: {}: an API key would cross the network in plain text: write https", url)};
    http.allowed_hosts.push_back(checked->host);
    urls.push_back(std::move(url));
  }
  return std::shared_ptr<CoordinatorDoor>(new CoordinatorDoor(std::move(http), std::move(urls), config.api_key));
}

HttpAnswer CoordinatorDoor::Send(std::size_t which, const std::string& method, const std::string& path, const std::string& body,
                                 const CallContext& context) {
  HttpCall call;
  call.method = method;
  call.url = urls_[which % urls_.size()] + path;
  call.headers = {{"Accept", "application/json"}};
  if (!body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  if (method == "POST") call.own_headers = {{"Idempotency-Key", context.call.step.idempotency_key}};
  if (!key_.empty()) call.own_headers.emplace_back("Authorization", "Bearer " + key_);
  if (!context.traceparent.empty()) call.own_headers.emplace_back("traceparent", context.traceparent);
  call.body = body;
  call.deadline = context.deadline;
  call.stopped = [stop = context.stop] { return stop.stopped(); };
  auto answered = std::make_shared<std::promise<HttpAnswer>>();
  auto answer = answered->get_future();
  client_.Start(std::move(call), [answered](HttpAnswer given) { answered->set_value(std::move(given)); });
  return answer.get();
}

std::optional<StepResult> CoordinatorDoor::Pause(const CallContext& context, const std::string& doing) {
  const auto until = std::chrono::steady_clock::now() + kDoorPause;
  do {
    if (auto late = Late(context, doing)) return late;
    std::this_thread::sleep_for(kDoorLook);
  } while (std::chrono::steady_clock::now() < until);
  return std::nullopt;
}

}  // namespace acl
