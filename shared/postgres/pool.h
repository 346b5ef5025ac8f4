#pragma once
// A few connections for many threads. A caller takes one, uses it, gives it back by leaving scope; a broken one is thrown away.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "shared/postgres/connection.h"

namespace acl::pg {

class Pool {
 public:
  // Connects lazily, up to `size` connections. `wait`: how long a caller waits for a free one before kUnavailable.
  Pool(ConnectionSettings settings, int size, milliseconds wait) : settings_(std::move(settings)), size_(size), wait_(wait) {}

  class Taken {
   public:
    Taken(Pool* pool, std::unique_ptr<Connection> connection) : pool_(pool), connection_(std::move(connection)) {}
    Taken(Taken&&) = default;
    Taken& operator=(Taken&&) = delete;
    ~Taken() {
      if (pool_ != nullptr && connection_) pool_->Return(std::move(connection_));
    }
    Connection* operator->() { return connection_.get(); }
    Connection& operator*() { return *connection_; }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // kUnavailable: no connection can be made, or none became free in time. Nothing was sent to the database then.
  Result<Taken> Take();

 private:
  void Return(std::unique_ptr<Connection> connection);

  ConnectionSettings settings_;
  int size_;
  milliseconds wait_;
  std::mutex mutex_;
  std::condition_variable freed_;
  int out_ = 0;                                    // taken or being opened
  std::vector<std::unique_ptr<Connection>> idle_;  // last in, first out: few stay warm
};

}  // namespace acl::pg
