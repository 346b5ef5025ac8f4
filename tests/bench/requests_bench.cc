// What the worst requests that the API accepts cost a coordinator: its time, and the memory that they hold at their highest. The API over
// memory, without sockets and database; the CPU column is the thread that handles it. docs/reference/limits.md has the figures.
// Run: ./dev bench micro requests

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "coordinator/api/request_budget.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace {

std::atomic<std::int64_t> held{0}, highest{0};

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t now = held += std::int64_t(::malloc_usable_size(memory));
  std::int64_t before = highest;
  while (now > before && !highest.compare_exchange_weak(before, now)) {
  }
  return memory;
}
void Let(void* memory) {
  if (memory != nullptr) held -= std::int64_t(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return Counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t align) {
  return Counted(std::aligned_alloc(std::size_t(align), (size + std::size_t(align) - 1) / std::size_t(align) * std::size_t(align)));
}
void operator delete(void* memory) noexcept { Let(memory); }
void operator delete(void* memory, std::size_t) noexcept { Let(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Let(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Let(memory); }

namespace acl::coordinator {
namespace {

class Api : public ApiFixture {
 public:
  using ApiFixture::Ask, ApiFixture::AskOnly;
  void TestBody() override {}

  std::string Stored(const std::string& bytes) {
    const std::string hash = ToHex(Sha256(bytes));
    ACL_CHECK(Ask("PUT", "/v1/contents/" + hash, bytes).status == 200, "the content is not stored");
    return hash;
  }
};

constexpr double kMostBytes = 400e6;  // docs/reference/limits.md

const HttpHeaders kJson = {{"content-type", "application/json"}};

struct Question {
  std::string method, target, body;
  int status = 201;
};

// Each with an API of its own: nothing is known of it from the time before.
void Measure(benchmark::State& state, const std::function<Question(Api&)>& make) {
  double most = 0;
  std::size_t body = 0, answer = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto api = std::make_unique<Api>();
    const Question question = make(*api);
    const std::int64_t before = highest = held.load();
    state.ResumeTiming();
    auto said = api->AskOnly(question.method, question.target, question.body, kJson);
    state.PauseTiming();
    most = std::max(most, double(highest - before));
    body = question.body.size(), answer = said.body.size();
    if (said.status != question.status) {
      state.SkipWithError(("answered " + std::to_string(said.status) + ": " + said.body.substr(0, 300)).c_str());
      break;
    }
    const double room = double(RoomToHandle(question.body));
    if (most > kMostBytes || (room > 0 && most > room)) {
      state.SkipWithError(("it took " + std::to_string(most / 1e6) + " MB, the budget counts " + std::to_string(room / 1e6)).c_str());
      break;
    }
    said = {};
    api.reset();
    state.ResumeTiming();
  }
  state.counters["peak_MB"] = most / 1e6;
  state.counters["body_MB"] = double(body) / 1e6;
  state.counters["answer_MB"] = double(answer) / 1e6;
}

Question Submit(Json more) {
  Json body = {{"workflow", kYaml}};
  body.update(more);
  return {"POST", "/v1/workflows", body.dump()};
}
Question SubmitInputs(const std::string& inputs) {
  return {"POST", "/v1/workflows", R"({"workflow": )" + Json(kYaml).dump() + R"(, "inputs": )" + inputs + "}"};
}

Question Files(Api& api, const std::function<std::string(int)>& path, int files) {
  const std::string hash = api.Stored("x");
  Json list = Json::array();
  for (int i = 0; i < files; ++i) list.push_back({{"path", path(i)}, {"hash", hash}});
  return Submit({{"files", std::move(list)}});
}

// Entries as many as may be, folders among them.
Question PlainFiles(Api& api) {
  return Files(
      api, [](int i) { return "d" + std::to_string(i) + "/src/lib/f.txt"; }, 5'000);
}
Question DeepFiles(Api& api) {
  return Files(
      api,
      [](int i) {
        std::string path = std::to_string(i);
        for (int name = 2; name < 200; ++name) path += "/d";
        return path + "/f";
      },
      100);
}
Question LongFiles(Api& api) {
  std::string folder(255, 'n');
  for (int i = 0; i < 10; ++i) folder += "/" + std::string(255, 'n');
  return Files(
      api, [&](int i) { return folder + "/" + std::to_string(i); }, 2'900);
}

std::string Repeated(std::string_view one, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text.append(i == 0 ? "" : ",").append(one);
  return text;
}
constexpr std::size_t kAlmost = limits::kJsonValues - 100;

Question Arrays(Api&) { return SubmitInputs(R"({"a": [)" + Repeated("[]", kAlmost / 2) + "]}"); }
Question Objects(Api&) { return SubmitInputs(R"({"a": [)" + Repeated(R"({"":{}})", kAlmost / 3) + "]}"); }
Question Keys(Api&) {
  std::string text;
  for (std::size_t i = 0; i < kAlmost; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  return SubmitInputs(R"({"a": {)" + text + "}}");
}
Question ManyInputs(Api&) {
  std::string text;
  for (std::size_t i = 0; i < limits::kRunInputs; ++i)
    text += (i == 0 ? "\"i" : ",\"i") + std::to_string(i) + "\":" + "[" + Repeated("1", 95) + "]";
  return SubmitInputs("{" + text + "}");
}
Question Strings(Api&) { return SubmitInputs(R"({"a": [)" + Repeated(R"("0123456789")", kAlmost) + "]}"); }
Question OneText(Api&) { return SubmitInputs(R"({"a": ")" + std::string((16u << 20) - 1'000, 'x') + "\"}"); }
Question Escapes(Api&) {
  std::string text;
  while (text.size() < (16u << 20) - 1'000) text += "\\u0001";
  return SubmitInputs(R"({"a": ")" + text + "\"}");
}

// As many steps as a file holds, each after the one before.
std::string LargestWorkflow() {
  std::string text = "name: w\nsteps:\n";
  for (int i = 0; text.size() < limits::kWorkflowFileBytes - 100; ++i)
    text += "- {name: s" + std::to_string(i) + ", capability: test.echo}\n";
  return text;
}
std::string AliasedWorkflow() {
  std::string text = "name: w\ninitial_state:\n  a: &a [1,1,1,1,1,1,1,1,1,1]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n";
  text +=
      "  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: "
      "[*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
  return text + "steps:\n- {name: s, capability: test.echo}\n";
}
std::string ManyNames() {  // keys of initial_state, inputs and steps, each looked for among the others
  std::string text = "name: w\ninitial_state:\n";
  for (int i = 0; i < 30'000; ++i) text += "  k" + std::to_string(i) + ": 1\n";
  text += "inputs:\n";
  for (int i = 0; i < 10'000; ++i) text += "  i" + std::to_string(i) + ": {default: 1}\n";
  text += "steps:\n";
  for (int i = 0; text.size() < limits::kWorkflowFileBytes - 100; ++i)
    text += "- {name: s" + std::to_string(i) + ", capability: test.echo}\n";
  return text;
}
Question Workflow(const std::string& target, const std::string& text) {
  return {"POST", target, Json({{"workflow", text}}).dump(), target == "/v1/validate" ? 200 : 201};
}
Question SubmitLargest(Api&) { return Workflow("/v1/workflows", LargestWorkflow()); }
Question ValidateLargest(Api&) { return Workflow("/v1/validate", LargestWorkflow()); }
Question ValidateAliases(Api&) { return Workflow("/v1/validate", AliasedWorkflow()); }
Question ValidateNames(Api&) { return Workflow("/v1/validate", ManyNames()); }
Question Batch(Api&) {
  std::string runs;
  for (int i = 0; i < 1'000; ++i) runs += (i == 0 ? "" : ",") + (R"({"inputs": {"a": [)" + Repeated("[]", 490) + "]}}");
  return {"POST", "/v1/workflows/batch", R"({"workflow": )" + Json(kYaml).dump() + R"(, "runs": [)" + runs + "]}"};
}

// What reading such a run costs.
std::string MadeBy(Api& api, const Question& question) {
  const auto made = api.AskOnly(question.method, question.target, question.body, kJson);
  ACL_CHECK(made.status == 201, "the run is not made");
  return Json::parse(made.body)["id"];
}
Question View(Api& api) { return {"GET", "/v1/workflows/" + MadeBy(api, Arrays(api)), "", 200}; }
Question Inputs(Api& api) { return {"GET", "/v1/workflows/" + MadeBy(api, Arrays(api)) + "/inputs", "", 200}; }
Question Events(Api& api) { return {"GET", "/v1/workflows/" + MadeBy(api, Arrays(api)) + "/events", "", 200}; }
Question ListOfFiles(Api& api) { return {"GET", "/v1/workflows/" + MadeBy(api, LongFiles(api)) + "/files", "", 200}; }
Question ViewOfSteps(Api& api) { return {"GET", "/v1/workflows/" + MadeBy(api, SubmitLargest(api)), "", 200}; }

#define ACL_WORST(name, make) BENCHMARK_CAPTURE(Measure, name, make)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime()
ACL_WORST(submit_files_20000_entries, PlainFiles);
ACL_WORST(submit_files_200_names_deep, DeepFiles);
ACL_WORST(submit_files_longest_paths, LongFiles);
ACL_WORST(submit_values_arrays, Arrays);
ACL_WORST(submit_values_objects, Objects);
ACL_WORST(submit_values_keys, Keys);
ACL_WORST(submit_values_inputs, ManyInputs);
ACL_WORST(submit_values_strings, Strings);
ACL_WORST(submit_one_text, OneText);
ACL_WORST(submit_escaped_text, Escapes);
ACL_WORST(submit_batch, Batch);
ACL_WORST(submit_largest_workflow, SubmitLargest);
ACL_WORST(validate_largest_workflow, ValidateLargest);
ACL_WORST(validate_aliases, ValidateAliases);
ACL_WORST(validate_many_names, ValidateNames);
ACL_WORST(get_run_of_values, View);
ACL_WORST(get_inputs_of_values, Inputs);
ACL_WORST(get_events_of_values, Events);
ACL_WORST(get_files, ListOfFiles);
ACL_WORST(get_run_of_most_steps, ViewOfSteps);

}  // namespace
}  // namespace acl::coordinator
