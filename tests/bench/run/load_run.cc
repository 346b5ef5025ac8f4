#include "tests/bench/run/load_run.h"

#include <fmt/format.h>

#include <sstream>

#include "tests/bench/load/connection.h"
#include "tests/bench/run/machine.h"

namespace acl::bench {

std::pair<Json, Json> RunLoad(const Stage& stage, const Fleet& fleet, std::vector<std::string> options) {
  std::vector<std::string> argv = {stage.tools / "bench-load", "--api", fmt::format("127.0.0.1:{}", fleet.api_port())};
  argv.insert(argv.end(), options.begin(), options.end());
  std::istringstream lines(RunToEnd(argv));
  Json window, done;
  for (std::string text; std::getline(lines, text);) {
    const auto line = ParseJson(text);
    if (line && line->value("mark", "") == "end") window = *line;
    if (line && line->value("mark", "") == "done") done = *line;
  }
  return {window, done};
}

double FleetCpu(const Stage& stage, const Fleet& fleet) {
  double seconds = CpuSeconds(stage.server->pid()) + CpuSeconds(fleet.coordinator());
  for (const auto& worker : fleet.workers()) seconds += CpuSeconds(worker->pid());
  return seconds;
}

void SubmitRun(const Fleet& fleet, const std::string& workflow) {
  Connection connection("127.0.0.1", fleet.api_port());
  const std::string request =
      RequestText("POST", "/v1/workflows", fmt::format("127.0.0.1:{}", fleet.api_port()), "", DumpJson({{"workflow", workflow}}));
  connection.Send(request, 0);
  std::optional<Answer> answer;
  const bool answered = AwaitThat(
      [&] {
        connection.SendMore();
        answer = connection.Read();
        return answer.has_value();
      },
      std::chrono::minutes(1));
  if (!answered || answer->status != 201) throw std::runtime_error("a run is not taken: " + std::string(answer ? answer->body : ""));
}

}  // namespace acl::bench
