#include "shared/capability/runner.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "shared/base/late_thread.h"
#include "shared/base/memory.h"
#include "shared/base/mutant.h"
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
constexpr std::size_t kLittleBytes = 16u << 10;  // of inputs or outputs that a thread with others to serve goes through

// The longest a call may take when neither the step nor the capability says so.
constexpr std::chrono::hours kNoTimeout{24 * 7};

// The outputs must be what the registry says, and survive the journal: UTF-8, no NUL, not too deep, not too large.
void CheckOutputs(const CapabilityDefinition& definition, std::size_t max_bytes, StepResult& result) {
  if (!result.outputs.is_object()) {
    result = Failed(fmt::format("{}: its outputs are not a map; this is a bug of the capability", definition.id));
    return;
  }
  if (auto wrong = CheckResults(definition, result.outputs); !wrong.empty()) {
    result = Failed(fmt::format("{}: {}; this is a bug of the capability", definition.id, fmt::join(wrong, "; ")));
    return;
  }
  if (auto storable = CheckStorable(result.outputs); !storable) {
    result = Failed(fmt::format("{}: the outputs cannot be stored: {}", definition.id, storable.message()));
    return;
  }
  if (std::size_t size = DumpedBytes(result.outputs); size > max_bytes) {
    result = Failed(fmt::format("{}: the outputs have {} bytes, {} are allowed; write large results to a file of the run", definition.id,
                                size, max_bytes));
  }
}

// `success: false` of a capability for which that is no result (docs/reference/other-runtimes.md#k22).
void CheckSuccess(const CapabilityDefinition& definition, StepResult& result) {
  auto success = result.outputs.find("success");
  if (definition.false_success == FalseSuccess::kResult || success == result.outputs.end() || *success != Json(false)) return;
  auto message = result.outputs.find("error_message");
  std::string why = message != result.outputs.end() && message->is_string() ? message->get<std::string>() : "it reported success: false";
  result = Failed(fmt::format("{}: {}", definition.id, why));
}

// The attempt's folder, and those of its token and run if nothing else is in them.
void RemoveFolder(const std::string& folder) {
  if (::access(folder.c_str(), F_OK) != 0) return;
  RemoveTree(folder);
  std::string token = folder.substr(0, folder.rfind('/')), run = token.substr(0, token.rfind('/'));
  if (::rmdir(token.c_str()) == 0) ::rmdir(run.c_str());
}

// Whether a value has no more than so much text and so many members; `left` is what it leaves of that.
bool IsWithin(const Json& value, std::size_t& left) {
  const std::size_t own = value.is_string() ? value.get_ref<const std::string&>().size() + 1 : 1;
  if (own > left) return false;
  left -= own;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      if (name.size() > left) return false;
      left -= name.size();
      if (!IsWithin(member, left)) return false;
    }
  } else if (value.is_array()) {
    return std::all_of(value.begin(), value.end(), [&](const Json& member) { return IsWithin(member, left); });
  }
  return true;
}

// Nothing to be deleted, and outputs that are soon looked through.
bool LittleIsLeft(const Workspace& workspace, const StepResult& result) {
  std::size_t left = kLittleBytes;
  return !workspace.folder_asked() && IsWithin(result.outputs, left);
}

// Of a call that was begun. What it did outside is nobody's to say; what may be repeated is worth another attempt, when others have given
// memory back.
StepResult OutOfMemory(const CapabilityDefinition& definition) {
  std::string error = fmt::format("{}: {}", definition.id, kOutOfMemory);
  if (definition.effect == EffectClass::kNonIdempotent) return Ended(Outcome::kUnknown, std::move(error));
  return Failed(std::move(error), true);
}

StepResult Guarded(const CapabilityDefinition& definition, const CapabilityHandler& handler, const Json& parameters, CallContext& context) {
  std::string what;
  try {
    StepResult result;
    if (!WithinMemory([&] { result = handler(parameters, context); })) return OutOfMemory(definition);
    return result;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an unknown exception";
  }
  std::string error = fmt::format("{}: it threw {}; this is a bug of the capability", definition.id, what);
  // Whether the outside was reached is anybody's guess then.
  if (definition.effect == EffectClass::kNonIdempotent) return Ended(Outcome::kUnknown, error);
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
      quick_here_(options.quick_here),
      max_threads_(std::max(1, options.threads)),
      traceparent_(options.traceparent ? options.traceparent : [](const StepCall& call) { return FormatTraceparent(call.trace); }),
      folder_(std::move(folder)),
      contents_(contents, folder_->path() + "/contents", options.max_kept_bytes) {
  threads_.reserve(std::size_t(max_threads_));
  if (options.metrics != nullptr) {
    for (const CapabilityDefinition* definition : registry_.All()) {
      step_seconds_[definition->id] = options.metrics->histogram(names::kStepTime, {{"capability", definition->id}});
    }
  }
}

// The context hangs on the rest: it stays where it is.
struct CapabilityRunner::Attempt {
  Attempt() = default;
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  const steady_clock::time_point begin = steady_clock::now();
  const CapabilityDefinition* definition = nullptr;
  std::string capability;
  Json parameters;
  std::unique_ptr<Workspace> workspace;
  std::optional<CallContext> context;
};

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
  RunMany(std::move(one));
}

void CapabilityRunner::RunMany(std::vector<Job> jobs) {
  Work quick, refused;
  std::string short_of;
  bool all_here = true;
  const auto queue = [&](Work some) {
    for (Job& job : Queue(std::move(some), short_of)) refused.push_back(std::move(job));
  };
  for (Job& job : jobs) {
    const Pace pace = PaceOf(job.call);
    all_here = all_here && pace != Pace::kBegun;
    if (pace == Pace::kSlow) {
      Work one;
      one.push_back(std::move(job));
      queue(std::move(one));
    } else {
      quick.push_back(std::move(job));
    }
  }
  if (all_here && !quick.empty() && quick.size() <= quick_here_) {
    std::unique_lock lock(mutex_);
    if (!stopping_) {
      const std::uint64_t number = Begin(quick);
      lock.unlock();
      RunAll(quick, number);
      quick.clear();
    }
  }
  queue(std::move(quick));
  for (Job& job : refused) job.done(short_of.empty() ? Ended(Outcome::kNotStarted, kNoRoom) : Failed(Error{Code::kExhausted, short_of}));
}

CapabilityRunner::Pace CapabilityRunner::PaceOf(const StepCall& call) const {
  const auto name = call.step.call.is_object() ? call.step.call.find(kCallCapability) : call.step.call.end();
  if (name == call.step.call.end() || !name->is_string()) return Pace::kSlow;
  const CapabilityDefinition* definition = registry_.Find(name->get_ref<const std::string&>());
  if (definition == nullptr) return Pace::kSlow;
  if (registry_.Starter(definition->id) != nullptr) return Pace::kBegun;
  std::size_t left = kLittleBytes;  // whatever it does, it does with these
  return definition->quick && IsWithin(call.step.call, left) ? Pace::kQuick : Pace::kSlow;
}

std::uint64_t CapabilityRunner::Begin(const Work& work) {
  const std::uint64_t number = next_number_;
  UntilThereIsMemory([&] {
    for (std::size_t i = 0; i < work.size(); ++i) running_.emplace(number + i, work[i].stop);
  });
  next_number_ += work.size();
  return number;
}

// What is done here comes back together: the worker commits it together.
void CapabilityRunner::RunAll(Work& work, std::uint64_t number) {
  std::vector<std::optional<StepResult>> results;
  UntilThereIsMemory([&] { results.reserve(work.size()); });
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::optional<StepResult> result;
    if (!WithinMemory([&] { result = RunOne(work[i], number + i); }))  // before it was begun: what is begun has its own answer
      UntilThereIsMemory([&] { result = Failed(std::string(kOutOfMemory), true); });
    results.push_back(std::move(result));
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (results[i]) End(number + i, work[i].done, std::move(*results[i]));
  }
}

CapabilityRunner::Work CapabilityRunner::Queue(Work work, std::string& short_of) {
  if (work.empty()) return work;
  std::lock_guard lock(mutex_);
  if (stopping_ || queued_ + work.size() > max_queued_) return work;
  queued_ += work.size();
  for (const Job& job : work) job.stop.Wait();
  queue_.push_back(std::move(work));
  const Status somebody_comes = WakeAThread();
  if (somebody_comes) return {};
  short_of = somebody_comes.message();
  work = std::move(queue_.back());
  queue_.pop_back();
  queued_ -= work.size();
  return work;
}

Status CapabilityRunner::WakeAThread() {
  Status there_is_one;
  if (!stopping_ && idle_ < int(queue_.size() + (ended_.empty() ? 0 : 1)) && int(threads_.size()) < max_threads_) {
    std::thread another;
    there_is_one = StartThread(another, [this] { RunWork(); });
    if (there_is_one) threads_.push_back(std::move(another));  // has room: reserved
  }
  wake_.notify_one();
  return threads_.empty() ? there_is_one : Status();
}

void CapabilityRunner::RunWork() {
  pthread_setname_np(pthread_self(), "step");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return HasWork() || (stopping_ && running_.empty()); });
    --idle_;
    if (!HasWork()) return;
    if (!ended_.empty() && !ending_) {
      EndThose(lock);
      continue;
    }
    Work work = std::move(queue_.front());
    queue_.pop_front();
    queued_ -= work.size();
    const std::uint64_t number = Begin(work);
    lock.unlock();
    for (const Job& job : work) job.stop.Begin(steady_clock::now());
    RunAll(work, number);
    work.clear();
    lock.lock();
  }
}

void CapabilityRunner::EndThose(std::unique_lock<std::mutex>& lock) {
  ending_ = true;
  while (!ended_.empty()) {
    auto some = std::exchange(ended_, {});
    lock.unlock();
    for (auto& rest : some) rest();
    some.clear();
    lock.lock();
  }
  ending_ = false;
}

void CapabilityRunner::End(std::uint64_t number, const Done& done, StepResult result) {
  done(std::move(result));
  std::lock_guard lock(mutex_);
  running_.erase(number);
  if (stopping_ && running_.empty()) wake_.notify_all();
}

std::optional<StepResult> CapabilityRunner::RunOne(Job& job, std::uint64_t number) {
  auto attempt = std::make_shared<Attempt>();
  if (auto cannot = Prepare(*attempt, std::move(job.call), job.stop)) return Finish(*attempt, std::move(*cannot));
  if (const CapabilityHandler* handler = registry_.Handler(attempt->capability))
    return Finish(*attempt, Guarded(*attempt->definition, *handler, attempt->parameters, *attempt->context));
  // What is left to do when it has ended is done by who answers if it is little, else on a thread of ours: he has others to answer.
  const auto ended = [this, attempt, number, done = job.done](StepResult result) {
    if (LittleIsLeft(*attempt->workspace, result)) return End(number, done, Finish(*attempt, std::move(result)));
    std::shared_ptr<StepResult> kept;
    UntilThereIsMemory([&] { kept = std::make_shared<StepResult>(); });
    *kept = std::move(result);
    std::unique_lock lock(mutex_);
    UntilThereIsMemory(
        [&] { ended_.push_back([this, attempt, number, done, kept] { End(number, done, Finish(*attempt, std::move(*kept))); }); });
    if (ending_ || ended_.size() != 1) return;  // one has been woken, and takes all
    if (!WakeAThread()) EndThose(lock);         // there is no thread: then it is done here
  };
  const CapabilityStarter& starter = *registry_.Starter(attempt->capability);
  if (!WithinMemory([&] { starter(attempt->parameters, *attempt->context, ended); }))
    return Finish(*attempt, OutOfMemory(*attempt->definition));
  return std::nullopt;
}

StepResult CapabilityRunner::Call(StepCall call, const StopToken& stop) {
  Attempt attempt;
  if (auto cannot = Prepare(attempt, std::move(call), stop)) return Finish(attempt, std::move(*cannot));
  if (const CapabilityHandler* handler = registry_.Handler(attempt.capability))
    return Finish(attempt, Guarded(*attempt.definition, *handler, attempt.parameters, *attempt.context));
  auto answer = std::make_shared<std::promise<StepResult>>();
  (*registry_.Starter(attempt.capability))(attempt.parameters, *attempt.context,
                                           [answer](StepResult result) { answer->set_value(std::move(result)); });
  return Finish(attempt, answer->get_future().get());
}

std::optional<StepResult> CapabilityRunner::Prepare(Attempt& attempt, StepCall call, const StopToken& stop) {
  const CallView wanted = ViewOfCall(call.step.call);
  attempt.capability = wanted.capability;
  if (!wanted.error.empty()) return Failed(std::string(wanted.error));
  if (stop.stopped()) return Ended(Outcome::kNotStarted, "stopped before it began");
  const CapabilityDefinition* definition = registry_.Find(wanted.capability);
  if (!definition || (!registry_.Handler(wanted.capability) && !registry_.Starter(wanted.capability))) {
    std::string near = registry_.Nearest(wanted.capability);
    return Failed(fmt::format("Capability '{}' not found{}; `airun capability list` shows what there is", wanted.capability,
                              near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  static const Json nothing = Json::object();
  const Json& inputs = wanted.inputs != nullptr ? *wanted.inputs : nothing;
  if (auto wrong = CheckParameters(*definition, inputs, false); !wrong.empty()) return Failed(fmt::format("{}", fmt::join(wrong, "\n")));
  attempt.definition = definition;
  attempt.parameters = WithDefaults(*definition, inputs);
  attempt.workspace = std::make_unique<Workspace>(
      call.state, contents_, config_.files,
      [this, subject = call.subject, token = call.token, id = call.attempt_id] { return AttemptFolder(subject, token, id); });
  std::string traceparent = traceparent_(call);
  auto timeout = call.step.timeout.count() > 0 ? call.step.timeout : std::chrono::duration_cast<milliseconds>(definition->default_timeout);
  if (timeout.count() <= 0 || timeout > kNoTimeout) timeout = kNoTimeout;
  attempt.context.emplace(
      CallContext{std::move(call), steady_clock::now() + timeout, timeout, stop, attempt.workspace.get(), std::move(traceparent)});
  return std::nullopt;
}

StepResult CapabilityRunner::Finish(Attempt& attempt, StepResult result) {
  const bool enough = !attempt.workspace || WithinMemory([&] {
    if (attempt.workspace->folder_asked()) RemoveFolder(attempt.workspace->folder());
    if (result.outcome == Outcome::kSucceeded) CheckSuccess(*attempt.definition, result);
    if (result.outcome == Outcome::kSucceeded) CheckOutputs(*attempt.definition, config_.max_output_bytes, result);
    if (result.outcome == Outcome::kSucceeded) result.files = attempt.workspace->Changes();
  });
  if (!enough) result = OutOfMemory(*attempt.definition);
  if (result.outcome != Outcome::kSucceeded) {
    result.outputs = Json::object();
    result.files.clear();
    if (!WithinMemory([&] { result.error = StorableText(std::string_view(result.error).substr(0, kMaxErrorBytes)); })) result.error.clear();
  }
  const auto took = steady_clock::now() - attempt.begin;
  result.duration = std::chrono::duration_cast<milliseconds>(took);
  if (auto histogram = step_seconds_.find(attempt.capability); histogram != step_seconds_.end()) {
    histogram->second.Observe(std::chrono::duration<double>(took).count());
  }
  return result;
}

std::string CapabilityRunner::AttemptFolder(const SubjectId& subject, Token token, int attempt_id) const {
  if (Mutant("workspace_shared")) return fmt::format("{}/runs/{}/of/all", folder_->path(), subject.ToString());
  // A name nobody else has: two attempts never meet, whatever their ids.
  return fmt::format("{}/runs/{}/{}/{}-{:016x}", folder_->path(), subject.ToString(), token.value, attempt_id,
                     next_name_.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace acl
