#include "chaos/effects/server.h"

#include <charconv>

namespace acl::chaos {
namespace {

// Faults set a worker's clock an hour off; how old a message may be is not what is tested with it.
constexpr std::chrono::hours kClocksOff{2};

}  // namespace

Result<std::unique_ptr<EffectsServer>> EffectsServer::Start(const Clock& clock, std::vector<webhook::Key> keys) {
  std::unique_ptr<EffectsServer> made(new EffectsServer(clock, std::move(keys)));
  Router router;
  RouteOptions options;
  options.max_body = 1 << 16;
  options.on_server_thread = true;
  options.open = true;
  for (const char* method : {"PUT", "POST"})
    router.Add(method, "/effects/{run}/{step}", options, [raw = made.get()](const HttpRequest& request) { return raw->Take(request); });
  HttpServerOptions server;
  server.name = "effects";
  made->server_ = std::make_unique<HttpServer>(std::move(server), std::move(router), nullptr, &made->metrics_);
  if (Status started = made->server_->Start(); !started) return started.error();
  return made;
}

EffectsServer::~EffectsServer() {
  if (server_) server_->Stop();
}

HttpResponse EffectsServer::Take(const HttpRequest& request) {
  const auto header = [&](const char* name) {
    const std::string* value = request.Header(name);
    return value == nullptr ? std::string() : *value;
  };
  EffectCall call{request.Param("run"), request.Param("step"), header("idempotency-key"), 0, header("fencing-scope"), request.body};
  const std::string token = header("fencing-token");
  std::from_chars(token.data(), token.data() + token.size(), call.token);
  if (!keys_.empty()) {
    const webhook::Headers headers{header(webhook::kIdHeader), header(webhook::kTimestampHeader), header(webhook::kSignatureHeader)};
    const Status verified = webhook::Verify(headers, request.body, keys_, clock_.Wall(), kClocksOff);
    call.signature = !verified ? verified.message() : headers.id != call.key ? "webhook-id is not the idempotency key" : "good";
  }
  std::lock_guard lock(mutex_);
  const Verdict verdict = ledger_.Take(call, clock_.Steady().time_since_epoch().count());
  const int status = verdict == Verdict::kStale ? 412 : verdict == Verdict::kReused ? 422 : verdict == Verdict::kUnfenced ? 400 : 200;
  return HttpResponse::OfJson(status, {{"verdict", VerdictName(verdict)}, {"effect", call.key}});
}

std::vector<LedgerEntry> EffectsServer::Entries() const {
  std::lock_guard lock(mutex_);
  return ledger_.entries();
}

int EffectsServer::Count(Verdict verdict) const {
  std::lock_guard lock(mutex_);
  const auto& all = ledger_.entries();
  return int(std::count_if(all.begin(), all.end(), [&](const LedgerEntry& entry) { return entry.verdict == verdict; }));
}

}  // namespace acl::chaos
