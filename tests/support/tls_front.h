#pragma once
// TLS in front of a plain server on 127.0.0.1, for tests: a connection to it is one to the server. Its certificate is made here, for
// 127.0.0.1, and signed by itself: whoever trusts `certificate_file` trusts it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/check.h"

namespace acl {

class TlsFront {
 public:
  // `server`: the port behind it. `folder`: where the certificate is written.
  TlsFront(int server, const std::string& folder) : server_(server), certificate_file_(folder + "/front.pem") {
    MakeCertificate();
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    ACL_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(listener_, 16) == 0, "no port");
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  ~TlsFront() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }

  std::string Url(const std::string& path = "/") const { return "https://127.0.0.1:" + std::to_string(port_) + path; }
  const std::string& certificate_file() const { return certificate_file_; }
  int handshakes() const { return handshakes_; }
  int resumed() const { return resumed_; }  // of them, without a certificate, by a ticket of before
  int told() const { return told_; }        // pieces of what the server said, each passed on
  // Until more than `before` were.
  void AwaitMore(int before) const { told_.wait(before); }

 private:
  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(std::uint16_t(port));
    return address;
  }

  void MakeCertificate() {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> address(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"), &X509_EXTENSION_free);
    X509_add_ext(certificate.get(), address.get(), -1);
    ACL_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "a certificate cannot be made");
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(certificate_file_.c_str(), "we"), &std::fclose);
    ACL_CHECK(file && PEM_write_X509(file.get(), certificate.get()) == 1, "a certificate cannot be written");
    ACL_CHECK(SSL_CTX_use_certificate(context_.get(), certificate.get()) == 1 && SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1,
              "a certificate cannot be used");
  }

  void Accept() {
    // What is said to who has gone is an error, not the end of the process; threads made here have it so too.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::vector<std::thread> peers;
    while (!stop_) {
      pollfd wait{listener_, POLLIN, 0};
      if (::poll(&wait, 1, 20) <= 0) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) peers.emplace_back([this, fd] { Carry(fd); });
    }
    for (std::thread& peer : peers) peer.join();
  }

  // Until either side has enough.
  void Carry(int fd) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_.get()), &SSL_free);
    SSL_set_fd(tls.get(), fd);
    const int at_once = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    const int plain = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(server_);
    if (SSL_accept(tls.get()) == 1 && ::connect(plain, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      ++handshakes_;
      if (SSL_session_reused(tls.get()) == 1) ++resumed_;
      while (!stop_ && CarryOnce(tls.get(), fd, plain)) {
      }
      SSL_shutdown(tls.get());
    }
    ::close(plain);
    ::close(fd);
  }
  bool CarryOnce(SSL* tls, int fd, int plain) {
    std::array<pollfd, 2> waits{{{fd, POLLIN, 0}, {plain, POLLIN, 0}}};
    if (SSL_pending(tls) == 0 && ::poll(waits.data(), waits.size(), 20) <= 0) return true;
    std::array<char, 4096> buffer{};
    if (SSL_pending(tls) > 0 || waits[0].revents != 0) {
      const int n = SSL_read(tls, buffer.data(), int(buffer.size()));
      if (n <= 0 || ::send(plain, buffer.data(), std::size_t(n), MSG_NOSIGNAL) != n) return false;
    }
    if (waits[1].revents != 0) {
      const ssize_t n = ::read(plain, buffer.data(), buffer.size());
      if (n <= 0 || SSL_write(tls, buffer.data(), int(n)) != n) return false;
      ++told_;
      told_.notify_all();
    }
    return true;
  }

  const int server_;
  const std::string certificate_file_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> handshakes_{0}, resumed_{0}, told_{0};
  std::thread thread_;
};

}  // namespace acl
