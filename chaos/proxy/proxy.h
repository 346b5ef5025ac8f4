#pragma once
// A TCP connection's middle, one for each process of the fleet: the process connects here, we connect on. It does what networks do to
// connections (delay, silence in one direction or both, reset, small pieces) and, as it sees where PostgreSQL's messages end, what needs
// the protocol: it cuts a connection between a commit and its answer, or keeps a commit back until its sender's lease is gone. An own
// thread a proxy, so that one that waits for a frozen process delays no other.

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "chaos/proxy/pg_wire.h"
#include "shared/base/clock.h"
#include "shared/base/result.h"

namespace acl::chaos {

class Proxy {
 public:
  enum class Protocol { kBytes, kPostgres };
  // Where a connection is cut that carries a request (with kPostgres: a commit).
  enum class Cut {
    kBeforeServer,  // the request does not reach the server
    kWhenSent,      // right after it was forwarded: nobody can know
    kWhenAnswered,  // the server has answered, the answer is thrown away
    kHalfAnswer,    // half of what came of the answer goes on
    kBusy,          // the server hears nothing; the client gets an HTTP answer 503
  };
  enum class Silence { kNone, kAnswers, kBoth };

  struct Counters {
    std::int64_t connections = 0, commits = 0, cuts = 0, committed_unseen = 0, resets = 0, held = 0, delayed_bytes = 0, silenced = 0,
                 pieces = 0, answered = 0;
  };

  static Result<std::unique_ptr<Proxy>> Start(std::uint16_t target_port, Protocol protocol);  // both on 127.0.0.1
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const { return port_; }
  Counters counters() const;

  // The next `times` requests are cut so.
  void ArmCuts(Cut cut, int times);
  // The next request of any connection is held back; one only, unless `all`. What is held waits for Release.
  void ArmHold(bool all = false);
  bool Holding() const;
  void Release();
  void Disarm();
  void SetDelay(std::chrono::milliseconds delay, std::size_t piece = 0);  // piece 0: as it comes
  void SetSilence(Silence silence);
  // Every connection ends by a reset, as after a firewall's restart.
  void ResetAll();
  // The same, and none is let through any more.
  void Refuse();
  // Those that are open now.
  int open() const;

 private:
  struct Chunk {
    SteadyTime due;
    std::string bytes;
  };
  struct Pair {
    int client = -1, server = -1;
    PgFrontend front;
    PgBackend back;
    std::string held;                        // a request kept back
    std::deque<Chunk> to_server, to_client;  // delayed
    std::optional<Cut> cut_when_answered;
    bool counted_silence = false;
    int commits_waiting = 0;
  };
  enum class Fate { kGoesOn, kEnds, kReset };

  Proxy(std::uint16_t target, Protocol protocol) : target_port_(target), protocol_(protocol) {}
  void Run();
  void Accept();
  Fate FromClient(Pair& pair);
  Fate FromServer(Pair& pair);
  Fate Forward(Pair& pair, std::string bytes, bool request);
  Fate Queue(std::deque<Chunk>& queue, int fd, std::string_view bytes);
  Fate Flush(Pair& pair);
  void End(Pair& pair, bool reset);

  const std::uint16_t target_port_;
  const Protocol protocol_;
  const SystemClock clock_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::list<Pair> pairs_;
  Counters counters_;
  Cut cut_ = Cut::kWhenSent;
  int cuts_left_ = 0;
  bool hold_next_ = false, hold_all_ = false, reset_all_ = false, refuse_ = false;
  Silence silence_ = Silence::kNone;
  bool counted_knock_ = false;  // somebody who connected during the silence stands in the count
  std::chrono::milliseconds delay_{0};
  std::size_t piece_ = 0;
  std::thread thread_;
};

// A TCP port on loopback that is free now.
std::uint16_t FreePort();

}  // namespace acl::chaos
