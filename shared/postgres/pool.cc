#include "shared/postgres/pool.h"

namespace acl::pg {

Result<Pool::Taken> Pool::Take() {
  {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, wait_, [&] { return out_ < size_; })) {
      return Error{Code::kUnavailable, "all " + std::to_string(size_) + " database connections of '" + settings_.application_name +
                                           "' were busy for " + std::to_string(wait_.count()) + " ms"};
    }
    ++out_;
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->StillThere()) return Taken(this, std::move(connection));
    }
  }
  auto opened = Connection::Open(settings_);
  if (!opened) {
    std::lock_guard lock(mutex_);
    --out_;
    freed_.notify_one();
    return opened.error();
  }
  return Taken(this, std::move(*opened));
}

void Pool::Return(std::unique_ptr<Connection> connection) {
  connection->Rollback();
  bool keep = !connection->broken();
  {
    std::lock_guard lock(mutex_);
    --out_;
    if (keep) idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

}  // namespace acl::pg
