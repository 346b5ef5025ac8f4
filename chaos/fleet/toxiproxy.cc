#include "chaos/fleet/toxiproxy.h"

#include "chaos/http/client.h"
#include "chaos/process/patience.h"
#include "chaos/proxy/proxy.h"

namespace acl::chaos {

Result<std::unique_ptr<Toxiproxy>> Toxiproxy::Start(const std::filesystem::path& program, const std::filesystem::path& log) {
  const std::uint16_t port = FreePort();
  auto started = Child::Start({"toxiproxy", {program, "-host", "127.0.0.1", "-port", std::to_string(port)}, {{"LOG_LEVEL", "error"}}, log});
  if (!started) return started.error();
  std::unique_ptr<Toxiproxy> made(new Toxiproxy(std::move(*started), port));
  if (!Await([&] { return made->Call("GET", "/version").ok(); }, milliseconds(20'000)))
    return Error{Code::kUnavailable, "toxiproxy does not start: " + made->process_->LogTail()};
  return made;
}

Result<Json> Toxiproxy::Call(const std::string& method, const std::string& path, const Json& body) const {
  HttpAsk ask{method, "http://127.0.0.1:" + std::to_string(port_) + path, body.is_null() ? "" : DumpJson(body), {}, milliseconds(5'000)};
  const HttpAnswer answer = Http(ask);
  if (!answer.ok())
    return Error{Code::kUnavailable, "toxiproxy: " + path + ": " + std::to_string(answer.status) + " " + answer.error + answer.body};
  return answer.json();
}

Json MakeToxic(const char* type, const char* stream, Json attributes) {
  return {{"name", std::string(type) + "-" + stream}, {"type", type}, {"stream", stream}, {"attributes", std::move(attributes)}};
}

Result<std::uint16_t> Toxiproxy::Add(const std::string& name, std::uint16_t target_port, std::uint16_t at) {
  const std::uint16_t port = at != 0 ? at : FreePort();
  auto made = Call("POST", "/proxies",
                   {{"name", name},
                    {"listen", "127.0.0.1:" + std::to_string(port)},
                    {"upstream", "127.0.0.1:" + std::to_string(target_port)},
                    {"enabled", true}});
  if (!made) return made.error();
  return port;
}

Status Toxiproxy::AddToxic(const std::string& name, const Json& toxic) {
  auto added = Call("POST", "/proxies/" + name + "/toxics", toxic);
  return added ? Status() : Status(added.error());
}

Result<Json> Toxiproxy::Toxics(const std::string& name) const { return Call("GET", "/proxies/" + name + "/toxics"); }

Status Toxiproxy::RemoveToxics(const std::string& name) {
  const auto toxics = Toxics(name);
  if (!toxics) return toxics.error();
  for (const Json& toxic : *toxics) {
    auto removed = Call("DELETE", "/proxies/" + name + "/toxics/" + toxic.value("name", ""));
    if (!removed) return removed.error();
  }
  return {};
}

}  // namespace acl::chaos
