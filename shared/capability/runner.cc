#include "shared/capability/runner.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <exception>

#include "shared/base/random.h"
#include "shared/base/utf8.h"
#include "shared/capability/handlers.h"
#include "shared/kernel/call_format.h"
#include "shared/telemetry/names.h"

namespace acl {

namespace {

using Outcome = StepResult::Outcome;
using std::chrono::steady_clock;

constexpr const char* kNoRoom = "the worker is stopping or has too many calls waiting";
constexpr std::size_t kMaxErrorBytes = 8u << 10;

// The longest a call may take when neither the step nor the capability says so.
constexpr std::chrono::hours kNoTimeout{24 * 7};

// The outputs must be what the registry says, and survive the journal: UTF-8, no NUL, not too deep, not too large.
void CheckOutputs(const CapabilitySpec& spec, std::size_t max_bytes, StepResult& result) {
  if (!result.outputs.is_object()) {
    result = Failed(fmt::format("{}: its outputs are not a map; this is a bug of the capability", spec.id));
    return;
  }
  if (auto wrong = CheckResults(spec, result.outputs); !wrong.empty()) {
    result = Failed(fmt::format("{}: {}; this is a bug of the capability", spec.id, fmt::join(wrong, "; ")));
    return;
  }
  if (auto storable = CheckStorable(result.outputs); !storable) {
    result = Failed(fmt::format("{}: the outputs cannot be stored: {}", spec.id, storable.message()));
    return;
  }
  if (std::size_t size = DumpJson(result.outputs).size(); size > max_bytes) {
    result = Failed(
        fmt::format("{}: the outputs have {} bytes, {} are allowed; write large results to a file of the run", spec.id, size, max_bytes));
  }
}

// `success: false` of a capability for which that is no result (compat.md K22).
void CheckSuccess(const CapabilitySpec& spec, StepResult& result) {
  auto success = result.outputs.find("success");
  if (spec.false_success == FalseSuccess::kResult || success == result.outputs.end() || *success != Json(false)) return;
  auto message = result.outputs.find("error_message");
  std::string why = message != result.outputs.end() && message->is_string() ? message->get<std::string>() : "it reported success: false";
  result = Failed(fmt::format("{}: {}", spec.id, why));
}

// The attempt's folder, and those of its token and run if nothing else is in them.
void RemoveFolder(const std::string& folder) {
  if (::access(folder.c_str(), F_OK) != 0) return;
  RemoveTree(folder);
  std::string token = folder.substr(0, folder.rfind('/')), run = token.substr(0, token.rfind('/'));
  if (::rmdir(token.c_str()) == 0) ::rmdir(run.c_str());
}

StepResult Guarded(const CapabilitySpec& spec, const CapabilityHandler& handler, const Json& parameters, CallContext& context) {
  std::string what;
  try {
    return handler(parameters, context);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an unknown exception";
  }
  std::string error = fmt::format("{}: it threw {}; this is a bug of the capability", spec.id, what);
  // Whether the outside was reached is anybody's guess then.
  if (spec.effect == EffectClass::kNonIdempotent) return Ended(Outcome::kUnknown, error);
  return Failed(error);
}

}  // namespace

Result<std::unique_ptr<CapabilityRunner>> CapabilityRunner::Make(const CapabilityRegistry& registry, ContentStore& contents,
                                                                 const CapabilityConfig& config, const RunnerOptions& options) {
  auto folder = WorkFolder::Open(options.work_folder);
  if (!folder) return folder.error();
  return std::unique_ptr<CapabilityRunner>(new CapabilityRunner(registry, contents, config, options, std::move(*folder)));
}

CapabilityRunner::CapabilityRunner(const CapabilityRegistry& registry, ContentStore& contents, const CapabilityConfig& config,
                                   const RunnerOptions& options, std::unique_ptr<WorkFolder> folder)
    : registry_(registry),
      config_(config),
      max_queued_(options.max_queued),
      max_threads_(std::max(1, options.threads)),
      traceparent_(options.traceparent ? options.traceparent : [](const StepCall& call) { return FormatTraceparent(call.trace); }),
      folder_(std::move(folder)),
      contents_(contents, folder_->path() + "/contents", options.max_kept_bytes) {
  if (options.metrics != nullptr) {
    for (const CapabilitySpec* spec : registry_.All()) {
      step_seconds_[spec->id] = options.metrics->histogram(names::kStepTime, {{"capability", spec->id}});
    }
  }
}

CapabilityRunner::~CapabilityRunner() {
  std::deque<Work> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    for (auto& [number, stop] : running_) stop.Stop();
  }
  wake_.notify_all();
  for (auto& work : dropped) {
    for (auto& job : work) job.done(Ended(Outcome::kNotStarted, "the worker stops"));
  }
  for (auto& thread : threads_) thread.join();
}

void CapabilityRunner::Run(StepCall call, StopToken stop, Done done) {
  Work one;
  one.push_back({std::move(call), std::move(stop), std::move(done)});
  for (Job& job : Queue(std::move(one))) job.done(Ended(Outcome::kNotStarted, kNoRoom));
}

void CapabilityRunner::RunMany(std::vector<Job> jobs) {
  Work quick;
  for (Job& job : jobs) {
    if (IsQuick(job.call)) {
      quick.push_back(std::move(job));
    } else {
      Run(std::move(job.call), std::move(job.stop), std::move(job.done));
    }
  }
  for (Job& job : Queue(std::move(quick))) job.done(Ended(Outcome::kNotStarted, kNoRoom));
}

bool CapabilityRunner::IsQuick(const StepCall& call) const {
  const auto name = call.step.call.is_object() ? call.step.call.find(kCallCapability) : call.step.call.end();
  const CapabilitySpec* spec =
      name != call.step.call.end() && name->is_string() ? registry_.Find(name->get_ref<const std::string&>()) : nullptr;
  return spec != nullptr && spec->quick;
}

CapabilityRunner::Work CapabilityRunner::Queue(Work work) {
  if (work.empty()) return work;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || queued_ + work.size() > max_queued_) return work;
    queued_ += work.size();
    queue_.push_back(std::move(work));
    if (idle_ < int(queue_.size()) && int(threads_.size()) < max_threads_) threads_.emplace_back([this] { RunWork(); });
  }
  wake_.notify_one();
  return {};
}

void CapabilityRunner::RunWork() {
  pthread_setname_np(pthread_self(), "step");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    queued_ -= work.size();
    const std::uint64_t first = next_number_;
    next_number_ += work.size();
    for (std::size_t i = 0; i < work.size(); ++i) running_.emplace(first + i, work[i].stop);
    lock.unlock();
    std::vector<StepResult> results;
    for (const Job& job : work) results.push_back(Call(job.call, job.stop));
    lock.lock();
    for (std::size_t i = 0; i < work.size(); ++i) running_.erase(first + i);
    lock.unlock();
    for (std::size_t i = 0; i < work.size(); ++i) work[i].done(std::move(results[i]));
    work.clear();
    lock.lock();
  }
}

StepResult CapabilityRunner::Call(const StepCall& call, const StopToken& stop) {
  auto begin = steady_clock::now();
  CapabilityCall wanted = CallFromJson(call.step.call);
  StepResult result;
  if (!wanted.error.empty()) {
    result = Failed(wanted.error);
  } else if (stop.stopped()) {
    result = Ended(Outcome::kNotStarted, "stopped before it began");
  } else if (const CapabilitySpec* spec = registry_.Find(wanted.capability); !spec || !registry_.Handler(wanted.capability)) {
    std::string near = registry_.Nearest(wanted.capability);
    result = Failed(fmt::format("Capability '{}' not found{}; `airun capability list` shows what there is", wanted.capability,
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  } else {
    result = CallChecked(*spec, *registry_.Handler(wanted.capability), wanted.inputs, call, stop);
  }
  if (result.outcome != Outcome::kSucceeded) {
    result.outputs = Json::object();
    result.files.clear();
    result.error = StorableText(std::string_view(result.error).substr(0, kMaxErrorBytes));
  }
  const auto took = steady_clock::now() - begin;
  result.duration = std::chrono::duration_cast<milliseconds>(took);
  if (auto histogram = step_seconds_.find(wanted.capability); histogram != step_seconds_.end()) {
    histogram->second.Observe(std::chrono::duration<double>(took).count());
  }
  return result;
}

StepResult CapabilityRunner::CallChecked(const CapabilitySpec& spec, const CapabilityHandler& handler, const Json& inputs,
                                         const StepCall& call, const StopToken& stop) {
  if (auto wrong = CheckParameters(spec, inputs, false); !wrong.empty()) return Failed(fmt::format("{}", fmt::join(wrong, "\n")));
  std::string folder = AttemptFolder(call);
  Workspace workspace(call.state, contents_, config_.files, folder);
  CallContext context{call, {}, stop, &workspace, traceparent_(call)};
  auto timeout = call.step.timeout.count() > 0 ? call.step.timeout : std::chrono::duration_cast<milliseconds>(spec.default_timeout);
  if (timeout.count() <= 0 || timeout > kNoTimeout) timeout = kNoTimeout;
  context.deadline = steady_clock::now() + timeout;
  StepResult result = Guarded(spec, handler, WithDefaults(spec, inputs), context);
  RemoveFolder(folder);
  if (result.outcome == Outcome::kSucceeded) CheckSuccess(spec, result);
  if (result.outcome == Outcome::kSucceeded) CheckOutputs(spec, config_.max_output_bytes, result);
  if (result.outcome == Outcome::kSucceeded) result.files = workspace.Changes();
  return result;
}

std::string CapabilityRunner::AttemptFolder(const StepCall& call) const {
  SystemRandom random;  // a name nobody else has: two attempts never meet, whatever their ids
  return fmt::format("{}/runs/{}/{}/{}-{:016x}", folder_->path(), call.subject.ToString(), call.token.value, call.attempt_id,
                     random.Next());
}

}  // namespace acl
