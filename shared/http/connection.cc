#include "shared/http/connection.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "shared/base/memory.h"
#include "shared/http/problem.h"
#include "shared/http/request_context.h"
#include "shared/http/response_head.h"
#include "shared/http/stream_handle.h"

namespace acl::internal {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr std::size_t kReadAhead = 128 * 1024;
constexpr std::size_t kLingerBytes = 4u << 20;
constexpr std::size_t kLargeAnswer = 64 * 1024;
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServerCore& core, asio::ip::tcp::socket socket, bool probes_only)
      : core_(core), stream_(std::move(socket)), probes_only_(probes_only) {
    error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    const auto endpoint = stream_.socket().remote_endpoint(ignored);
    peer_ = HostPort{endpoint.address().to_string(), endpoint.port()}.ToString();
  }

  void Start() override {
    Safely([this] { ReadHead(core_.options.head_timeout); });
  }

  void Drain() override {
    if (phase_ == Phase::kHead) return Close();
    if (handle_) handle_->End();
  }

  void Abort() override { Close(); }

  void Recheck() override {
    if (phase_ == Phase::kStreaming && !core_.options.still_allowed(*request_)) Close();
  }

  std::optional<SteadyTime> IdleSince() const override {
    // The phase first: while the request is handled it is the handler's, on another thread.
    const bool waits = phase_ == Phase::kHead || phase_ == Phase::kLingering || (phase_ == Phase::kWriting && request_->principal.empty());
    return waits ? std::optional(idle_since_) : std::nullopt;
  }

  bool probes_only() const override { return probes_only_; }

 private:
  enum class Phase { kHead, kBody, kHandling, kWriting, kStreaming, kLingering, kClosed };

  // Everything on the server's thread goes through here: without memory for it this connection ends, and no other.
  template <class Piece>
  void Safely(const Piece& piece) {
    if (!WithinMemory(piece)) Close();
  }

  // ---- the head
  void ReadHead(std::chrono::milliseconds timeout) {
    if (core_.stopping) return Close();
    phase_ = Phase::kHead;
    idle_since_ = SystemClock().Steady();
    request_.reset();
    route_ = nullptr;
    Release();
    stream_.expires_after(timeout);
    ReadMoreHead(0);
  }

  // Reads until there is an empty line: never more than a head may have, and pipelined bytes that are there already come first.
  void ReadMoreHead(std::size_t searched) {
    const std::string_view have(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    const auto end = have.find("\r\n\r\n", searched < 3 ? 0 : searched - 3);
    if (end != std::string_view::npos) return OnHead({}, end + 4);
    // What can never become a head is answered now, not when the time for a head is over.
    if (!MayBecomeHead(have, searched)) return OnHead({}, have.size());
    const std::size_t limit = core_.options.max_head;
    if (have.size() >= limit) return OnHead(asio::error::not_found, 0);
    buffer_.max_size(kReadAhead);
    stream_.async_read_some(buffer_.prepare(std::min<std::size_t>(limit - have.size(), 4096)),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              if (self->phase_ != Phase::kHead) return;
                              self->Safely([&] {
                                if (error) return self->OnHead(error, 0);
                                const std::size_t before = self->buffer_.size();
                                self->buffer_.commit(size);
                                self->ReadMoreHead(before);
                              });
                            });
  }

  void OnHead(error_code error, std::size_t size) {
    started_ = SystemClock().Steady();
    request_ = std::make_shared<HttpRequest>();
    request_->peer = peer_;
    keep_alive_ = false;
    if (error == asio::error::not_found || (!error && size > core_.options.max_head)) {
      return Respond(Problem(431, "head-too-large", "the head of the request is too large"));
    }
    if (error) return Close();  // a timeout too: the stream is closed by then
    std::string text(static_cast<const char*>(buffer_.data().data()), size);
    buffer_.consume(size);
    if (text.starts_with("\r\n")) text.erase(0, 2);  // RFC 9112, 2.2: one empty line before the request
    auto checked = CheckHead(text, core_.options.gate);
    if (const auto* refusal = std::get_if<GateRefusal>(&checked)) {
      return Respond(Problem(refusal->status, refusal->code, refusal->detail));
    }
    head_ = std::get<HttpHead>(std::move(checked));
    keep_alive_ = head_.keep_alive && !head_.has_body();  // an answer before the body was read leaves the body in the way
    if (auto refusal = FillRequest(head_, core_.router, *request_, route_)) return Respond(std::move(*refusal));
    if (probes_only_) {
      keep_alive_ = false;
      if (!route_->options.open) {
        return Respond(Problem(503, "too-many-connections", "all connections are in use; try again").With("Retry-After", "1"));
      }
    }
    if (core_.options.authorize) {
      if (auto refusal = core_.options.authorize(*request_, *route_)) {
        if (!request_->undecided || !core_.options.look_again) return Respond(std::move(*refusal));
        return LookAgain(std::move(text), std::move(*refusal));
      }
    }
    TakeBody(text);
  }

  // Whether the request may go on is found out on the pool; until then nothing more of it is read.
  void LookAgain(std::string head_text, HttpResponse refusal) {
    phase_ = Phase::kHandling;
    stream_.expires_never();
    auto reply = std::make_shared<Reply>(shared_from_this(), core_.io);
    const bool posted = core_.pool && core_.pool->Post([this, reply, request = request_, route = route_, head_text = std::move(head_text)] {
      if (auto refused = core_.options.look_again(*request, *route)) return reply->Give(std::move(*refused));
      reply->Continue([head_text](Connection& connection) { connection.TakeBody(head_text); });
    });
    if (!posted) reply->Give(std::move(refusal));
  }

  void TakeBody(const std::string& text) {
    if (phase_ == Phase::kClosed) return;
    if (auto refusal = CheckBody(head_, *route_)) {
      if (refusal->status == 400) keep_alive_ = false;
      return Respond(std::move(*refusal));
    }
    ReadBody(text);
  }

  // ---- the body
  void ReadBody(const std::string& head_text) {
    parser_.emplace();
    parser_->header_limit(std::uint32_t(core_.options.max_head + 4));
    parser_->body_limit(route_->options.max_body);
    error_code error;
    const std::size_t used = parser_->put(asio::buffer(head_text), error);
    // A second opinion on the head: if it differs from the gate's in anything, nobody's reading is trusted.
    const bool agreed = !error && used == head_text.size() && parser_->is_header_done() && parser_->chunked() == head_.chunked &&
                        parser_->is_done() != head_.has_body();
    if (!agreed) {
      keep_alive_ = false;
      return Respond(Problem(400, "bad-head", "the head of the request is malformed"));
    }
    if (!head_.has_body()) return Dispatch();
    // A body that cannot be kept is refused before it is sent; what it takes of the budget is taken as it comes.
    if (core_.body_bytes + head_.content_length > core_.options.max_bodies) return RespondTooManyBodies();
    GrowBody(head_.content_length);
    phase_ = Phase::kBody;
    buffer_.max_size(std::max(kReadAhead, buffer_.size() + 1));
    stream_.expires_after(core_.options.body_timeout);
    if (!head_.expect_continue) return ReadRest();
    asio::async_write(stream_, asio::buffer(kContinue), [self = shared_from_this()](error_code failed, std::size_t) {
      if (failed) return self->Close();
      self->Safely([&] { self->ReadRest(); });
    });
  }

  void RespondTooManyBodies() {
    keep_alive_ = false;
    Respond(Problem(503, "too-many-bodies", "too many large requests at once; try again").With("Retry-After", "1"));
  }

  void ReadRest() {
    http::async_read_some(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      self->Safely([&] {
        if (self->phase_ != Phase::kBody) return;
        if (error || self->parser_->is_done()) return self->OnBody(error);
        if (!self->ReserveBody()) return self->RespondTooManyBodies();
        self->GrowBody(0);
        self->ReadRest();
      });
    });
  }

  // Room for what is read next: asked for here, where it may fail; reading never asks for more.
  void GrowBody(std::size_t whole) {
    std::string& body = parser_->get().body();
    const std::size_t next = body.size() + kReadAhead;
    if (body.capacity() < next || body.capacity() < whole) body.reserve(std::max({whole, next, 2 * body.size()}));
  }

  // Of the budget for bodies, what has come of this one.
  bool ReserveBody() {
    const std::size_t came = parser_->get().body().size();
    if (core_.body_bytes - reserved_ + came > core_.options.max_bodies) return false;
    core_.body_bytes += came - reserved_;
    reserved_ = came;
    return true;
  }

  void OnBody(error_code error) {
    if (phase_ != Phase::kBody) return;
    if (error == http::error::body_limit) {
      return Respond(Problem(413, "body-too-large",
                             "the body is larger than this route takes: " + std::to_string(route_->options.max_body) + " bytes"));
    }
    if (error == beast::error::timeout || error == http::error::end_of_stream || error == http::error::partial_message ||
        error == asio::error::eof || error == asio::error::connection_reset || error == asio::error::operation_aborted) {
      return Close();
    }
    if (error) return Respond(Problem(400, "bad-body", "the body is malformed: " + error.message()));
    if (!ReserveBody()) return RespondTooManyBodies();
    keep_alive_ = head_.keep_alive && !probes_only_;
    request_->body = std::move(parser_->get().body());
    parser_.reset();
    Dispatch();
  }

  // ---- the handler
  void Dispatch() {
    if (auto refusal = CheckContentType(*request_, *route_)) return Respond(std::move(*refusal));
    phase_ = Phase::kHandling;
    stream_.expires_never();
    if (route_->options.on_server_thread) {
      HttpResponse response = CallHandler(core_.log, *route_, *request_);
      ACL_CHECK(!response.later, "a route on the server's thread answers at once");
      return Respond(std::move(response));
    }
    if (auto response = CallQuick(core_.log, *route_, *request_)) {
      if (!response->later) return Respond(std::move(*response));
      return Await(std::make_shared<Reply>(shared_from_this(), core_.io), *response);
    }
    auto reply = std::make_shared<Reply>(shared_from_this(), core_.io);
    const bool posted = core_.pool->Post([reply, request = request_, route = route_, &log = core_.log] {
      HttpResponse response = CallHandler(log, *route, *request);
      if (!response.later) return reply->Give(std::move(response));
      Await(reply, response);
    });
    if (!posted) reply->Give(Problem(503, "overloaded", "too many requests are waiting; try again").With("Retry-After", "1"));
  }

  // Where a handler's answer goes: taken once, from any thread; given up without one it is a 503. It keeps the server's thread running
  // until then, also while it stops.
  class Reply {
   public:
    Reply(std::shared_ptr<Connection> connection, asio::io_context& io) : guard_(io.get_executor()) {
      pending_->connection = std::move(connection);
    }
    ~Reply() {
      if (given_) return;
      UntilThereIsMemory([this] { Give(Problem(503, "unavailable", "the request was given up; try again").With("Retry-After", "1")); });
    }
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;

    void Give(HttpResponse response) {
      if (given_.exchange(true)) return;
      pending_->response = std::move(response);
      UntilThereIsMemory([this] {
        asio::post(guard_.get_executor(), [pending = pending_] {
          const auto connection = std::move(pending->connection);  // let go of on its own thread
          connection->Safely([&] { connection->Respond(std::move(pending->response)); });
        });
      });
    }
    // No answer yet: the connection goes on with the request.
    void Continue(std::function<void(Connection&)> with) {
      if (given_.exchange(true)) return;
      UntilThereIsMemory([&] {
        asio::post(guard_.get_executor(), [pending = pending_, with] {
          const auto connection = std::move(pending->connection);
          connection->Safely([&] { with(*connection); });
        });
      });
    }

   private:
    // Made before it is needed: an answer is never lost for want of memory.
    struct Pending {
      std::shared_ptr<Connection> connection;
      HttpResponse response;
    };
    asio::executor_work_guard<asio::io_context::executor_type> guard_;
    const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
    std::atomic<bool> given_{false};
  };
  static void Await(const std::shared_ptr<Reply>& reply, const HttpResponse& response) {
    response.later([reply](HttpResponse answer) { reply->Give(std::move(answer)); });
  }

  // ---- the answer
  // Of the budget for answers: a reader that is slow holds its own for as long as an answer may take to be written. What changed something
  // is said in any case.
  bool ReserveAnswer(const HttpResponse& response) {
    const std::size_t bytes = response.body.size();
    if (bytes <= kLargeAnswer || response.on_stream) return true;
    const bool looks = request_->method == "GET";
    if (looks && core_.answer_bytes > 0 && core_.answer_bytes + bytes > core_.options.max_answers) return false;
    core_.answer_bytes += bytes;
    answer_reserved_ += bytes;
    return true;
  }

  void Respond(HttpResponse response) {
    if (phase_ == Phase::kClosed) return;
    if (!ReserveAnswer(response)) {
      response = Problem(503, "too-many-answers", "too many large answers wait for their readers; try again").With("Retry-After", "1");
    }
    const bool head_only = request_->method == "HEAD";
    const bool stream = response.on_stream && !head_only;
    BodyForm form = BodyForm::kLength;
    if (response.status == 204 || response.status == 304) form = BodyForm::kNone;
    if (response.on_stream) form = head_only ? BodyForm::kNone : head_.minor_version == 0 ? BodyForm::kUntilClose : BodyForm::kChunked;
    keep_alive_ = keep_alive_ && !core_.stopping && !stream;
    out_head_ = FormatResponseHead(response, form, keep_alive_, request_->request_id);
    out_body_ = head_only || form == BodyForm::kNone || stream ? std::string() : std::move(response.body);
    idle_since_ = SystemClock().Steady();
    core_.Account(*request_, response.status, idle_since_ - started_);
    phase_ = Phase::kWriting;
    stream_.expires_after(core_.options.write_timeout);
    const std::array<asio::const_buffer, 2> buffers = {asio::buffer(out_head_), asio::buffer(out_body_)};
    auto on_stream = stream ? std::move(response.on_stream) : nullptr;
    asio::async_write(stream_, buffers, [self = shared_from_this(), on_stream = std::move(on_stream), form](error_code error, std::size_t) {
      if (self->phase_ != Phase::kWriting) return;
      if (error) return self->Close();
      std::string().swap(self->out_body_);
      self->ReleaseAnswer();
      self->Safely([&] {
        if (on_stream) return self->BeginStream(on_stream, form == BodyForm::kChunked);
        self->keep_alive_ ? self->ReadHead(self->core_.options.idle_timeout) : self->Linger();
      });
    });
  }

  // Closing while the client still sends would reset the connection, and the client might never see the answer.
  void Linger() {
    phase_ = Phase::kLingering;
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    buffer_.consume(buffer_.size());
    buffer_.max_size(kReadAhead);
    stream_.expires_after(kLingerTime);
    ReadAway(0);
  }

  void ReadAway(std::size_t so_far) {
    stream_.async_read_some(asio::buffer(scratch_), [self = shared_from_this(), so_far](error_code error, std::size_t size) {
      if (error || so_far + size > kLingerBytes) return self->Close();
      self->Safely([&] { self->ReadAway(so_far + size); });
    });
  }

  // ---- a stream
  void BeginStream(const std::function<void(std::shared_ptr<HttpStream>)>& on_stream, bool chunked) {
    phase_ = Phase::kStreaming;
    stream_.expires_never();
    std::weak_ptr<Connection> weak = shared_from_this();
    handle_ = std::make_shared<StreamHandle>(chunked, [weak, &io = core_.io] {
      asio::post(io, [weak] {
        if (auto self = weak.lock()) self->Safely([&] { self->Pump(); });
      });
    });
    WatchForClose();
    if (core_.stopping) handle_->End();
    on_stream(handle_);
  }

  void WatchForClose() {
    stream_.async_read_some(asio::buffer(scratch_), [self = shared_from_this()](error_code error, std::size_t) {
      if (self->phase_ != Phase::kStreaming) return;
      if (error) return self->Close();
      self->Safely([&] { self->WatchForClose(); });  // whatever it says now is not listened to: the head said Connection: close
    });
  }

  void Pump() {
    if (phase_ != Phase::kStreaming || pumping_) return;
    bool last = false;
    out_body_ = handle_->Take(&last);
    if (out_body_.empty()) {
      if (last) Close();
      return;
    }
    pumping_ = true;
    stream_.expires_after(core_.options.write_timeout);
    asio::async_write(stream_, asio::buffer(out_body_), [self = shared_from_this(), last](error_code error, std::size_t) {
      self->pumping_ = false;
      if (self->phase_ != Phase::kStreaming) return;
      if (error || last) return self->Close();
      self->Safely([&] { self->Pump(); });
    });
  }

  // ---- the end
  void Release() {
    core_.body_bytes -= reserved_;
    reserved_ = 0;
  }
  void ReleaseAnswer() { core_.answer_bytes -= std::exchange(answer_reserved_, 0); }

  void Close() {
    if (phase_ == Phase::kClosed) return;
    const auto self = shared_from_this();
    phase_ = Phase::kClosed;
    Release();
    ReleaseAnswer();
    if (handle_) handle_->Close();
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.close();
    core_.connections.erase(self);
    core_.on_connection_gone();
  }

  HttpServerCore& core_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::string peer_;
  Phase phase_ = Phase::kHead;
  HttpHead head_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<HttpRequest> request_;
  const Route* route_ = nullptr;
  const bool probes_only_;
  SteadyTime started_, idle_since_ = SystemClock().Steady();
  std::size_t reserved_ = 0, answer_reserved_ = 0;
  bool keep_alive_ = false;
  std::string out_head_, out_body_;
  std::shared_ptr<StreamHandle> handle_;
  bool pumping_ = false;
  std::array<char, 4096> scratch_{};
};

}  // namespace

std::shared_ptr<HttpConnection> MakeHttpConnection(HttpServerCore& core, asio::ip::tcp::socket socket, bool probes_only) {
  return std::make_shared<Connection>(core, std::move(socket), probes_only);
}

}  // namespace acl::internal
