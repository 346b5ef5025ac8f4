#include "chaos/history/history.h"

#include <fmt/format.h>

#include "shared/base/read_file.h"

namespace acl::chaos {

Result<std::unique_ptr<Recorder>> Recorder::Create(const std::filesystem::path& file, const Clock& clock) {
  std::unique_ptr<Recorder> history(new Recorder(file, clock));
  if (!history->out_) return Error{Code::kUnavailable, "cannot write " + file.string()};
  return history;
}

void Recorder::Write(const std::string& type, Json fields) {
  Json line = {{"type", type}};
  std::lock_guard lock(mutex_);
  line["t"] = clock_.Steady().time_since_epoch().count();
  for (auto& [key, value] : fields.items()) line[key] = std::move(value);
  out_ << DumpJson(line) << '\n' << std::flush;
}

std::int64_t Recorder::Invoke(const std::string& process, const std::string& f, Json args) {
  std::int64_t op;
  {
    std::lock_guard lock(mutex_);
    op = next_op_++;
  }
  Write("invoke", {{"op", op}, {"process", process}, {"f", f}, {"args", std::move(args)}});
  return op;
}

void Recorder::Complete(std::int64_t op, const std::string& process, const std::string& f, const std::string& outcome, Json value) {
  Write(outcome, {{"op", op}, {"process", process}, {"f", f}, {"value", std::move(value)}});
}

Result<std::vector<Json>> ParseHistory(std::string_view text) {
  std::vector<Json> lines;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    auto parsed = ParseJson(line);
    if (!parsed || !parsed->is_object() || !parsed->contains("type") || !(*parsed)["type"].is_string() || !parsed->contains("t")) {
      return Error{Code::kInvalid, fmt::format("line {} is no line of a history{}", number, parsed ? "" : ": " + parsed.message())};
    }
    lines.push_back(std::move(*parsed));
  }
  if (lines.empty() || lines.front()["type"] != "run") return Error{Code::kInvalid, "it does not begin with a line of type run"};
  return lines;
}

Result<std::vector<Json>> LoadHistory(const std::filesystem::path& file) {
  constexpr std::size_t kMost = std::size_t(4) << 30;
  auto text = ReadFile(file.string(), kMost);
  if (!text) return text.error();
  auto lines = ParseHistory(*text);
  if (!lines) return Error{Code::kCorrupt, file.string() + ": " + lines.message()};
  return lines;
}

}  // namespace acl::chaos
