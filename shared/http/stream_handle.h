#pragma once
// The HttpStream of one connection. Internal. The handle may outlive connection and server: once Close was called it touches neither.

#include <functional>
#include <mutex>
#include <string>

#include "shared/http/message.h"

namespace acl::internal {

class StreamHandle final : public HttpStream {
 public:
  // `wake` posts to the server's thread; it is called under the handle's lock and never after Close.
  StreamHandle(bool chunked, std::function<void()> wake) : chunked_(chunked), wake_(std::move(wake)) {}

  Wrote Write(std::string_view bytes) override;
  void End() override;
  bool closed() const override;
  std::size_t waiting() const override;

  // The server's side. What is to be sent now ("" = nothing yet); what was taken before counts as sent. `last`: the response ends with it.
  std::string Take(bool* last);
  void Close();

 private:
  const bool chunked_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::string pending_;
  std::size_t in_flight_ = 0;
  bool woken_ = false, ended_ = false, closed_ = false;
};

}  // namespace acl::internal
