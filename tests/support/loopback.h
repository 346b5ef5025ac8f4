#pragma once
// A socket that listens on 127.0.0.1, at a port that the system chooses.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace acl::test {

struct Listener {
  int socket = -1, port = 0;
};

inline Listener ListenOnLoopback(int backlog) {
  Listener made;
  made.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(made.socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(made.socket, reinterpret_cast<sockaddr*>(&address), &size);
  made.port = ntohs(address.sin_port);
  ::listen(made.socket, backlog);
  return made;
}

}  // namespace acl::test
