#include "cli/support.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/app.h"
#include "cli/format.h"
#include "shared/base/build_info.h"
#include "shared/base/redact.h"
#include "shared/journal/event.h"

namespace acl::cli {

namespace {

// What is taken along. Everything else stays: inputs, outputs, errors' words, labels, owners, files.
constexpr std::array<std::string_view, 36> kTaken = {"id",
                                                     "name",
                                                     "version",
                                                     "status",
                                                     "state",
                                                     "since",
                                                     "blocked_on",
                                                     "next_wake",
                                                     "holder",
                                                     "session",
                                                     "worker_deaths",
                                                     "queue",
                                                     "priority",
                                                     "created_at",
                                                     "started_at",
                                                     "completed_at",
                                                     "updated_at",
                                                     "head_seq",
                                                     "fencing_token",
                                                     "worker_name",
                                                     "host",
                                                     "pid",
                                                     "queues",
                                                     "leases_held",
                                                     "slots",
                                                     "heartbeat_at",
                                                     "dead",
                                                     "ready",
                                                     "oldest_seconds",
                                                     "workers",
                                                     "workflow_id",
                                                     "acquired_at",
                                                     "lease_expires_at",
                                                     "reason",
                                                     "waiting",
                                                     "held"};

bool IsTaken(std::string_view key) { return std::find(kTaken.begin(), kTaken.end(), key) != kTaken.end(); }

Json Taken(const Json& value, int depth) {
  constexpr int kDeepest = 6;
  if (depth > kDeepest) return nullptr;
  if (value.is_string()) return RedactText(value.get_ref<const std::string&>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& one : value) out.push_back(Taken(one, depth + 1));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, member] : value.items())
    if (IsTaken(key)) out[key] = Taken(member, depth + 1);
  return out;
}

Json PageFor(ApiClient& api, const std::string& path) {
  auto body = api.Get(path);
  if (!body) return {{"not_read", RedactText(body.message())}};
  return ForSupport(ItemsOf(*body));
}

// A page that needs no key, as it is: readiness and metrics name no secret.
Json OpenPage(ApiClient& api, const std::string& path) {
  auto reply = api.Probe(path);
  if (!reply) return {{"not_read", RedactText(reply.message())}};
  return {{"status", reply->status}, {"body", RedactText(reply->body)}};
}

Json BundleOf(ApiClient& api) {
  Json bundle = {{"airun", {{"version", std::string(kProducerVersion)}, {"commit", std::string(BuildCommit())}}}};
  bundle["readyz"] = OpenPage(api, "/readyz");
  bundle["metrics"] = OpenPage(api, "/metrics");
  for (const auto& [name, path] : {std::pair{"workers", "/v1/workers?include_dead=true"},
                                   {"queues", "/v1/queues"},
                                   {"leases", "/v1/leases?limit=1000"},
                                   {"quarantined", "/v1/quarantine"},
                                   {"needs_person", "/v1/workflows?needs_person=true&limit=200"},
                                   {"failed", "/v1/workflows?status=FAILED&limit=50"},
                                   {"newest", "/v1/workflows?limit=50"}})
    bundle[name] = PageFor(api, path);
  return bundle;
}

// Only its owner may read it: names of hosts and workflows are somebody's business, too.
Status WriteForOwner(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Error{Code::kInvalid, path + ": " + std::strerror(errno) + (errno == EEXIST ? "; name another file" : "")};
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) break;
    done += std::size_t(wrote);
  }
  const bool whole = ::close(fd) == 0 && done == text.size();
  return whole ? Status{} : Error{Code::kInvalid, path + ": cannot be written whole: " + std::strerror(errno)};
}

void MakeBundle(Session* session, const std::string& path) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  if (Status written = WriteForOwner(path, BundleOf(**api).dump(1) + "\n"); !written) return session->Fail(written.error());
  session->Print("wrote " + path);
  session->Note(
      "It holds ids, states, times, host names and metrics; no inputs, outputs, errors' words, labels or keys. Read it before you send "
      "it.");
}

}  // namespace

Json ForSupport(const Json& rows) { return Taken(rows, 0); }

void AddSupportCommand(CLI::App* app, Session* session) {
  auto path = std::make_shared<std::string>();
  CLI::App* bundle =
      app->add_subcommand("support-bundle", "how the fleet stands, in one file without anything that workflows were given or said");
  bundle->add_option("file", *path, "where it goes; it must not be there yet")->required();
  bundle->callback([=] { MakeBundle(session, *path); });
}

}  // namespace acl::cli
