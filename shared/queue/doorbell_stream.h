#pragma once
// One connection of the doorbell, either end: reads frames, writes what is queued (at most kMaxQueued frames of kMaxQueuedBytes together;
// more is dropped: it is only hints), pings, and closes when the peer is silent. Frames that are there together are read, and written, with
// one call. Lives on its io_context's thread.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "shared/queue/doorbell_frame.h"

namespace acl::doorbell {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static constexpr std::size_t kMaxQueued = 1024, kMaxQueuedBytes = 1024 * 1024;
  static constexpr std::chrono::seconds kPingEvery{5}, kSilence{20};

  Stream(boost::asio::ip::tcp::socket socket, std::function<void(const Message&)> on_message, std::function<void()> on_closed);

  void Start();
  // False if the queue is full: the hint is dropped.
  bool Send(std::string frame);
  void Close();  // calls on_closed once
  bool open() const { return open_; }

 private:
  void ReadMore();
  bool TakeFrames();  // all that are there whole; false: what came is not one
  void WriteNext();
  void ArmPing();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer ping_;
  std::function<void(const Message&)> on_message_;
  std::function<void()> on_closed_;
  std::string in_;  // the first `filled_` bytes came and are not taken yet
  std::size_t filled_ = 0;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;  // of queue_
  std::string out_;               // on its way
  bool writing_ = false, open_ = true;
  int silent_pings_ = 0;
};

}  // namespace acl::doorbell
