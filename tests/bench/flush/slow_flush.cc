// Preloaded into PostgreSQL by the benchmark: every fdatasync, which is how it flushes its write-ahead log on Linux (wal_sync_method),
// takes ACL_BENCH_FLUSH_DELAY_US longer. Shows how throughput and latency depend on the disk.
#include <dlfcn.h>
#include <poll.h>

#include <cstdlib>
#include <ctime>

namespace {

long DelayMicros() {
  static const long delay = [] {
    const char* text = std::getenv("ACL_BENCH_FLUSH_DELAY_US");
    return text == nullptr ? 0L : std::atol(text);
  }();
  return delay;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  using Flush = int (*)(int);
  static const auto real = reinterpret_cast<Flush>(dlsym(RTLD_NEXT, "fdatasync"));
  const int result = real(fd);
  if (const long delay = DelayMicros(); delay > 0) {
    const timespec time{delay / 1'000'000, delay % 1'000'000 * 1000};
    ppoll(nullptr, 0, &time, nullptr);
  }
  return result;
}
