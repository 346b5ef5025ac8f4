#include "shared/telemetry/span_exporter.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <charconv>

#include "shared/base/check.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/redact.h"
#include "shared/telemetry/names.h"

namespace acl {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kMaxAnswer = 64u << 10;
constexpr milliseconds kFirstPause{250}, kLongestPause{10'000}, kPollStop{50};

std::size_t OnAnswer(char* data, std::size_t size, std::size_t count, void* user) {
  auto* body = static_cast<std::string*>(user);
  if (body->size() + size * count <= kMaxAnswer) body->append(data, size * count);
  return size * count;  // what is too long is read and forgotten
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(user))() ? 1 : 0;
}

}  // namespace

class SpanExporter::Poster {
 public:
  explicit Poster(const OtelConfig& config) : config_(config) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    handle_ = curl_easy_init();
    ACL_CHECK(handle_, "libcurl gives no handle");
    for (const auto& [name, value] : config_.headers) headers_ = curl_slist_append(headers_, (name + ": " + value).c_str());
    for (const char* line : {"Content-Type: application/json", "Expect:"}) headers_ = curl_slist_append(headers_, line);
  }
  ~Poster() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(handle_);
  }
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;

  struct Answer {
    int status = 0;  // 0: none
    std::string body, error;
    milliseconds retry_after{0};
  };
  Answer Post(const std::string& body, milliseconds timeout, const std::function<bool()>& give_up) {
    Answer answer;
    char reason[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(handle_, CURLOPT_URL, config_.url.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    curl_easy_setopt(handle_, CURLOPT_USERAGENT, "acl/0.1");
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, std::max(1L, long(timeout.count())));
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, OnAnswer);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, OnProgress);
    curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, &give_up);
    if (!config_.ca_file.empty()) curl_easy_setopt(handle_, CURLOPT_CAINFO, config_.ca_file.c_str());
    const CURLcode code = curl_easy_perform(handle_);
    if (code != CURLE_OK) {
      answer.error = reason[0] ? reason : curl_easy_strerror(code);
      return answer;
    }
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    curl_off_t wait = 0;
    curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &wait);
    answer.status = int(status);
    answer.retry_after = std::chrono::seconds(std::clamp<curl_off_t>(wait, 0, 3'600));
    if (status != 200) answer.error = fmt::format("it answered {}", status);
    return answer;
  }

 private:
  const OtelConfig& config_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
};

SpanExporter::SpanExporter(OtelConfig config, const Clock& clock, Metrics* metrics)
    : config_(std::move(config)),
      clock_(clock),
      outage_(Logger("traces"), clock,
              {"spans cannot be delivered; runs go on, their traces have gaps (acl_trace_spans_total counts them)",
               "spans are delivered again"},
              {.settle = milliseconds(0)}) {
  if (metrics != nullptr) {
    const auto count = [&](const char* result) { return metrics->counter(names::kTraceSpans, {{"result", result}}); };
    exported_ = count("exported");
    dropped_ = count("dropped");
    refused_ = count("refused");
    failed_ = count("failed");
  }
  poster_ = std::make_unique<Poster>(config_);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "traces");
    Run();
  });
}

SpanExporter::~SpanExporter() { Stop(milliseconds(0)); }

bool SpanExporter::Add(Span span) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || int(queue_.size()) >= config_.max_queue) {
      dropped_.Add();
      return false;
    }
    queue_.push_back(std::move(span));
    wake = queue_.size() == 1 || int(queue_.size()) == config_.max_batch;
  }
  if (wake) changed_.notify_one();
  return true;
}

void SpanExporter::Hurry() {
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) return;
    hurry_ = true;
  }
  changed_.notify_one();
}

void SpanExporter::Stop(milliseconds at_most) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) stop_by_ = clock_.Steady() + at_most;
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<Span> SpanExporter::NextBatch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  const auto due = [this] { return stopping_ || hurry_ || int(queue_.size()) >= config_.max_batch; };
  changed_.wait_for(lock, config_.delay, due);
  std::vector<Span> batch;
  while (!queue_.empty() && int(batch.size()) < config_.max_batch) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (queue_.empty()) hurry_ = false;
  return batch;
}

void SpanExporter::Run() {
  for (;;) {
    const std::vector<Span> batch = NextBatch();
    if (batch.empty()) return;
    (void)WithinMemory([&] { Deliver(batch); });
  }
}

bool SpanExporter::Pause(SteadyTime until) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const SteadyTime now = clock_.Steady();
    if (stopping_ && now >= stop_by_) return false;
    if (now >= until) return true;
    // In slices: the clock may be a test's.
    changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(until - now, kPollStop));
  }
}

void SpanExporter::Deliver(const std::vector<Span>& batch) {
  const std::string body = EncodeSpans(config_.resource, batch);
  const SteadyTime give_up_at = clock_.Steady() + config_.export_timeout;
  const std::function<bool()> time_is_up = [this] {
    std::lock_guard lock(mutex_);
    return stopping_ && clock_.Steady() >= stop_by_;
  };
  SystemRandom random;
  milliseconds pause = kFirstPause;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(give_up_at - clock_.Steady());
    const Poster::Answer answer = poster_->Post(body, std::min(config_.post_timeout, left), time_is_up);
    if (answer.status == 200) {
      // A part may be refused: that is final too, the standard says.
      const Json said = Json::parse(answer.body, nullptr, false);
      std::int64_t refused = 0;
      if (said.is_object() && said.contains("partialSuccess") && said["partialSuccess"].is_object()) {
        const Json& number = said["partialSuccess"].value("rejectedSpans", Json());
        if (number.is_number()) refused = number.get<std::int64_t>();
        if (number.is_string()) {
          const auto& text = number.get_ref<const std::string&>();
          std::from_chars(text.data(), text.data() + text.size(), refused);
        }
      }
      refused = std::clamp<std::int64_t>(refused, 0, std::int64_t(batch.size()));
      if (refused > 0) Settled(std::size_t(refused), Sent::kRefused, "it refused a part");
      Settled(batch.size() - std::size_t(refused), Sent::kYes, "");
      return;
    }
    const bool again = answer.status == 0 || answer.status == 429 || (answer.status >= 502 && answer.status <= 504);
    if (!again) return Settled(batch.size(), Sent::kRefused, answer.error);
    const auto wait =
        std::max(answer.retry_after, milliseconds(pause.count() / 2 + std::int64_t(random.Below(std::uint64_t(pause.count())))));
    pause = std::min(pause * 2, kLongestPause);
    if (clock_.Steady() + wait >= give_up_at || !Pause(clock_.Steady() + wait)) return Settled(batch.size(), Sent::kAgain, answer.error);
  }
}

void SpanExporter::Settled(std::size_t spans, Sent how, const std::string& why) {
  switch (how) {
    case Sent::kYes: exported_.Add(double(spans)); break;
    case Sent::kRefused: refused_.Add(double(spans)); break;
    case Sent::kAgain: failed_.Add(double(spans)); break;
  }
  if (how == Sent::kYes) return outage_.Worked();
  outage_.Failed({{"endpoint", RedactText(config_.url)}, {"error", RedactText(why)}, {"spans", spans}});
}

}  // namespace acl
