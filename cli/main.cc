// airun: the command line.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <thread>

#include "cli/app.h"
#include "cli/curl_transport.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  char path[4096] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  acl::cli::Environment environment{
      std::cout,
      std::cerr,
      isatty(STDOUT_FILENO) == 1,
      isatty(STDERR_FILENO) == 1,
      [](const std::string& name) {
        const char* value = std::getenv(name.c_str());
        return std::string(value ? value : "");
      },
      acl::cli::MakeCurlTransport,
      [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); },
      length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string(argv[0]),
      &std::cin,
  };
  return acl::cli::RunCli({argv + 1, argv + argc}, std::move(environment));
}
