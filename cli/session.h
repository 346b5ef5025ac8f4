#pragma once
// What every command of airun shares: where it writes, the global options, the connection to the coordinator, and how it ends.
//
// Data goes to stdout, messages to stderr. Exit codes: 0 ok, 1 failure, 2 usage (kInvalid), 3 not found, 4 no right, 5 conflict, 6 timeout.
// A file whose contents are wrong is kCorrupt: 1.

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/api_client.h"
#include "cli/shown.h"
#include "shared/base/json.h"
#include "shared/base/result.h"
#include "shared/capability/capability.h"
#include "shared/objectstore/s3_store.h"

namespace acl::cli {

inline constexpr int kExitOk = 0, kExitFailure = 1, kExitUsage = 2, kExitNotFound = 3, kExitDenied = 4, kExitConflict = 5, kExitTimeout = 6;
inline constexpr int kExitInvalidRun = 7;  // of `airun chaos`: the run proves nothing
int ExitCodeOf(Code code);

// The world a command sees; a test brings its own.
struct Environment {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false, err_is_terminal = false;
  std::function<std::string(const std::string& name)> environment;  // "" if not set
  std::function<std::unique_ptr<Transport>(const std::string& server)> connect;
  std::function<void(std::chrono::milliseconds)> sleep;
  std::string executable;      // path of airun itself
  std::istream* in = nullptr;  // stdin, if there is one
};

struct GlobalOptions {
  std::string output = "text";  // text or json
  std::string server, api_key_file, database_url;
  bool no_color = false;
};

class Session {
 public:
  explicit Session(Environment given) : environment(std::move(given)) {}

  Environment environment;
  GlobalOptions options;
  int exit_code = kExitOk;
  bool stdin_read = false;  // it can be read once

  bool json() const { return options.output == "json"; }
  // Prints "airun: <message>" to stderr and remembers the exit code.
  void Fail(const Error& error);
  void Fail(int code, const Shown& message);
  void Note(const Shown& message);        // to stderr, with a line end
  void Progress(const Shown& line);       // to stderr, over the line before
  void Print(const Shown& text);          // to stdout, with a line end
  void Write(const Shown& text);          // to stdout, as it is
  void PrintJson(const Json& value);      // indented
  void PrintJsonLine(const Json& value);  // on one line
  // A file's own bytes; a terminal gets them as text.
  void WriteBytes(const std::string& bytes);
  void Flush();
  void ClearScreen();  // of a terminal
  enum class Colour { kNone, kRed, kGreen, kYellow, kBlue, kDim };
  // Coloured if stdout is a terminal and nobody objects (NO_COLOR, --no-color, TERM=dumb; FORCE_COLOR insists).
  Shown Paint(Colour colour, const std::string& text) const;

  std::string DatabaseUrl() const;  // --database-url, ACL_DATABASE_URL, the default
  Result<ApiClient*> Api();
  // The object store that ACL_S3_... name, which should be the programs'; null if they name none.
  Result<std::shared_ptr<S3Store>> Objects();
  // What can be a run's id or a part of one (at least 6 hex digits); the server finds the run, or says which ones have that part.
  Result<std::string> RunId(const std::string& text);
  const CapabilityRegistry& Capabilities();  // of this binary

 private:
  std::unique_ptr<ApiClient> api_;
  std::unique_ptr<CapabilityRegistry> capabilities_;
};

// The colour of a status word.
Session::Colour StatusColour(const std::string& status);

}  // namespace acl::cli
