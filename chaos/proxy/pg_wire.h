#pragma once
// PostgreSQL's protocol (version 3) as far as a proxy must see it: where messages end, which request commits, when it was answered.
// Pure: bytes in, units out. What a fleet of ours sends is known by the names of its prepared statements (shared/postgres/statement.h).

#include <deque>
#include <string>
#include <string_view>

namespace acl::chaos {

// What a client sends, cut into units that are forwarded as a whole. A commit request (Bind of a statement `commit.*` that writes, up to
// its Sync; or a simple query COMMIT) is one unit.
class PgFrontend {
 public:
  struct Unit {
    std::string bytes;
    bool commit = false;
    bool asks_for_encryption = false;  // SSLRequest or GSSENCRequest: the answer is one byte
  };
  void Feed(std::string_view bytes);
  // The next whole unit; false: more bytes are needed.
  bool Next(Unit* unit);

 private:
  std::string buffer_, request_;  // `request_`: the units of a commit request so far
  bool started_ = false;          // past the startup message
};

// What the server answers: told when a request was answered, and how.
class PgBackend {
 public:
  void ExpectOneByte() { one_byte_ = true; }
  // The number of requests (ReadyForQuery) that were answered in these bytes.
  int Feed(std::string_view bytes);
  // Whether the request answered last ended in an error.
  bool failed() const { return failed_; }

 private:
  std::string buffer_;
  bool one_byte_ = false, error_ = false, failed_ = false;
};

}  // namespace acl::chaos
