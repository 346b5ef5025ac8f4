#include "chaos/proxy/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace acl::chaos {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Prepare(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const timeval limit{1, 0};  // a peer that is frozen with its buffers full loses the connection rather than stops the proxy
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(std::size_t(sent));
  }
  return true;
}

// A socket at a free port of loopback, and the port; 0: there is none.
std::uint16_t Bind(int* fd) {
  *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = Loopback(0);
  socklen_t size = sizeof address;
  const bool bound =
      bind(*fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && getsockname(*fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return bound ? ntohs(address.sin_port) : 0;
}

}  // namespace

std::uint16_t FreePort() {
  int fd = -1;
  const std::uint16_t port = Bind(&fd);
  close(fd);
  ACL_CHECK(port != 0, "no free port on loopback");
  return port;
}

Result<std::unique_ptr<Proxy>> Proxy::Start(std::uint16_t target_port, Protocol protocol) {
  std::unique_ptr<Proxy> proxy(new Proxy(target_port, protocol));
  proxy->port_ = Bind(&proxy->listener_);
  if (proxy->port_ == 0 || listen(proxy->listener_, 128) != 0) return Error{Code::kUnavailable, "a proxy cannot listen on loopback"};
  proxy->thread_ = std::thread([raw = proxy.get()] { raw->Run(); });
  return proxy;
}

Proxy::~Proxy() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  for (auto& pair : pairs_) End(pair, false);
  if (listener_ >= 0) close(listener_);
}

Proxy::Counters Proxy::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

void Proxy::ArmCuts(Cut cut, int times) {
  std::lock_guard lock(mutex_);
  cut_ = cut;
  cuts_left_ = times;
}

void Proxy::ArmHold(bool all) {
  std::lock_guard lock(mutex_);
  hold_next_ = true;
  hold_all_ = all;
}

bool Proxy::Holding() const {
  std::lock_guard lock(mutex_);
  return std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return !pair.held.empty(); });
}

void Proxy::Release() {
  std::lock_guard lock(mutex_);
  hold_next_ = hold_all_ = false;
  for (auto& pair : pairs_) {
    if (!pair.held.empty()) pair.to_server.push_back({clock_.Steady(), std::move(pair.held)});
    pair.held.clear();
  }
}

void Proxy::Disarm() {
  Release();
  std::lock_guard lock(mutex_);
  cuts_left_ = 0;
  delay_ = {};
  piece_ = 0;
  silence_ = Silence::kNone;
}

void Proxy::SetDelay(std::chrono::milliseconds delay, std::size_t piece) {
  std::lock_guard lock(mutex_);
  delay_ = delay;
  piece_ = piece;
}

void Proxy::SetSilence(Silence silence) {
  std::lock_guard lock(mutex_);
  silence_ = silence;
  counted_knock_ = false;
  for (auto& pair : pairs_) pair.counted_silence = false;
}

void Proxy::ResetAll() {
  std::lock_guard lock(mutex_);
  reset_all_ = true;
}

void Proxy::Refuse() {
  std::lock_guard lock(mutex_);
  reset_all_ = refuse_ = true;
}

int Proxy::open() const {
  std::lock_guard lock(mutex_);
  return int(pairs_.size());
}

void Proxy::End(Pair& pair, bool reset) {
  if (reset) {
    const linger now{1, 0};
    setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ++counters_.resets;
  }
  close(pair.client);
  close(pair.server);
}

void Proxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  if (refuse_) {
    close(client);
    return;
  }
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = Loopback(target_port_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(client);
    close(server);
    return;
  }
  Prepare(client);
  Prepare(server);
  Pair pair;
  pair.client = client;
  pair.server = server;
  ++counters_.connections;
  pairs_.push_back(std::move(pair));
}

Proxy::Fate Proxy::Queue(std::deque<Chunk>& queue, int fd, std::string_view bytes) {
  const bool slow = delay_.count() > 0 || piece_ > 0;
  if (!slow && queue.empty()) return SendAll(fd, bytes) ? Fate::kGoesOn : Fate::kEnds;
  // In pieces: each of them a millisecond after the one before, so that the receiver reads them one by one.
  auto due = clock_.Steady() + delay_;
  if (!queue.empty()) due = std::max(due, queue.back().due);
  while (!bytes.empty()) {
    const auto part = piece_ == 0 ? bytes : bytes.substr(0, piece_);
    queue.push_back({due, std::string(part)});
    bytes.remove_prefix(part.size());
    counters_.delayed_bytes += delay_.count() > 0 ? std::int64_t(part.size()) : 0;
    if (piece_ > 0) {
      due += std::chrono::milliseconds(1);
      ++counters_.pieces;
    }
  }
  return Fate::kGoesOn;
}

Proxy::Fate Proxy::Forward(Pair& pair, std::string bytes, bool request) {
  if (!pair.held.empty()) {  // what follows a held request waits behind it
    pair.held += bytes;
    return Fate::kGoesOn;
  }
  if (!request) return Queue(pair.to_server, pair.server, bytes);
  ++counters_.commits;
  if (hold_next_) {
    hold_next_ = hold_all_;
    ++counters_.held;
    pair.held = std::move(bytes);
    return Fate::kGoesOn;
  }
  ++pair.commits_waiting;
  if (cuts_left_ == 0) return Queue(pair.to_server, pair.server, bytes);
  --cuts_left_;
  if (cut_ == Cut::kWhenAnswered || cut_ == Cut::kHalfAnswer) {  // counted when it is cut
    pair.cut_when_answered = cut_;
    return Queue(pair.to_server, pair.server, bytes);
  }
  ++counters_.cuts;
  if (cut_ == Cut::kBusy) {
    SendAll(pair.client, "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return Fate::kEnds;
  }
  if (cut_ == Cut::kBeforeServer) return Fate::kReset;
  // All of it is with the kernel, which delivers it before the end of the connection: no reset towards the server.
  SendAll(pair.server, bytes);
  return Fate::kEnds;
}

Proxy::Fate Proxy::FromClient(Pair& pair) {
  char bytes[65536];
  const ssize_t got = recv(pair.client, bytes, sizeof bytes, 0);
  if (got <= 0) return Fate::kEnds;
  if (protocol_ == Protocol::kBytes) return Forward(pair, std::string(bytes, std::size_t(got)), true);
  pair.front.Feed({bytes, std::size_t(got)});
  for (PgFrontend::Unit unit; pair.front.Next(&unit);) {
    if (unit.asks_for_encryption) pair.back.ExpectOneByte();
    if (const Fate fate = Forward(pair, std::move(unit.bytes), unit.commit); fate != Fate::kGoesOn) return fate;
  }
  return Fate::kGoesOn;
}

Proxy::Fate Proxy::FromServer(Pair& pair) {
  char bytes[65536];
  const ssize_t got = recv(pair.server, bytes, sizeof bytes, 0);
  if (got <= 0) return Fate::kEnds;
  const std::string_view view(bytes, std::size_t(got));
  const int answered = protocol_ == Protocol::kPostgres ? pair.back.Feed(view) : 1;
  if (pair.cut_when_answered) {  // nothing of this answer reaches the client
    if (answered == 0) return Fate::kGoesOn;
    ++counters_.cuts;
    if (protocol_ == Protocol::kBytes || !pair.back.failed()) ++counters_.committed_unseen;
    if (*pair.cut_when_answered == Cut::kWhenAnswered) return Fate::kReset;
    SendAll(pair.client, view.substr(0, view.size() / 2));
    return Fate::kEnds;
  }
  if (answered > 0) pair.commits_waiting = 0;
  counters_.answered += answered;
  return Queue(pair.to_client, pair.client, view);
}

Proxy::Fate Proxy::Flush(Pair& pair) {
  const auto now = clock_.Steady();
  for (auto* queue : {&pair.to_server, &pair.to_client}) {
    const int fd = queue == &pair.to_server ? pair.server : pair.client;
    while (!queue->empty() && queue->front().due <= now) {
      if (!SendAll(fd, queue->front().bytes)) return Fate::kEnds;
      queue->pop_front();
    }
  }
  return Fate::kGoesOn;
}

void Proxy::Run() {
  while (!stop_) {
    std::vector<pollfd> waits;
    {
      std::lock_guard lock(mutex_);
      const bool listens = silence_ == Silence::kNone || !counted_knock_;
      waits.push_back({listener_, short(listens ? POLLIN : 0), 0});
      for (auto& pair : pairs_) {
        const bool up = silence_ != Silence::kBoth, down = silence_ == Silence::kNone;
        waits.push_back({pair.client, short(up ? POLLIN : 0), 0});
        waits.push_back({pair.server, short(down ? POLLIN : 0), 0});
      }
    }
    poll(waits.data(), waits.size(), 5);
    std::lock_guard lock(mutex_);
    std::size_t at = 1;
    for (auto it = pairs_.begin(); it != pairs_.end(); at += 2) {
      Pair& pair = *it;
      Fate fate = reset_all_ ? Fate::kReset : Fate::kGoesOn;
      if (silence_ != Silence::kNone && !pair.counted_silence) {
        pair.counted_silence = true;
        ++counters_.silenced;
      }
      if (fate == Fate::kGoesOn && waits[at].revents != 0 && silence_ != Silence::kBoth) fate = FromClient(pair);
      if (fate == Fate::kGoesOn && waits[at + 1].revents != 0 && silence_ == Silence::kNone) fate = FromServer(pair);
      if (fate == Fate::kGoesOn && silence_ == Silence::kNone) fate = Flush(pair);
      if (fate == Fate::kGoesOn) {
        ++it;
        continue;
      }
      End(pair, fate == Fate::kReset);
      it = pairs_.erase(it);
    }
    reset_all_ = false;
    if (waits[0].revents == 0) continue;
    if (silence_ == Silence::kNone) {
      Accept();
    } else if (!std::exchange(counted_knock_, true)) {  // who connects now hears nothing either
      ++counters_.silenced;
    }
  }
}

}  // namespace acl::chaos
