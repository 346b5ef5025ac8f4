#include "tests/support/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/check.h"
#include "shared/base/random.h"

namespace acl::test {

std::uint16_t FreePort() {
  SystemRandom random;
  for (;;) {
    const auto port = std::uint16_t(20'000 + random.Below(12'000));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ACL_CHECK(fd >= 0, "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (bound) return port;
  }
}

}  // namespace acl::test
