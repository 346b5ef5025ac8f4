#pragma once
// Every setting of every program, from one table (settings_table.cc): name, environment variable, flag, default, meaning. A flag wins
// over the environment, the environment over the default. docs/reference/settings.md and --help come from the table too.
//
//   auto parsed = ParseSettings(Program::kWorker, {argv + 1, argv + argc}, Environment());
//   if (!parsed) { print parsed.error(); return 2; }

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "shared/base/host_port.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl {

enum class Program : unsigned { kCoordinator = 1, kWorker = 2, kCli = 4 };

struct Settings {
  // -- everywhere
  std::string database_url = "postgresql:///acl";
  std::string log_level = "info";  // debug info warn error off
  bool dev_mode = false;
  std::string failpoints;  // empty: none are looked for
  std::chrono::milliseconds lease_ttl{10'000};
  std::chrono::milliseconds heartbeat{2'500};  // a quarter of lease_ttl unless set
  std::chrono::milliseconds drain_deadline{20'000};
  std::chrono::milliseconds drain_effects_deadline{60'000};
  int db_connections = 4;
  std::string queue_driver = "postgres";  // or kafka
  std::string kafka_bootstrap = "127.0.0.1:9092";
  std::string kafka_prefix = "acl";
  std::string kafka_properties_file;  // empty: none
  std::int64_t large_value_bytes = 256 * 1024;
  std::string s3_endpoint;  // empty: no object store
  std::string s3_region = "us-east-1";
  std::string s3_bucket;
  std::string s3_prefix = "acl";
  bool s3_path_style = true;
  std::string s3_access_key;
  std::string s3_secret_key;     // secret
  std::string s3_session_token;  // secret
  std::string s3_ca_file;        // empty: the system's
  std::chrono::milliseconds s3_timeout{20'000};
  // -- coordinator
  HostPort listen{"127.0.0.1", 8733};
  HostPort doorbell_listen{"127.0.0.1", 8734};
  std::string doorbell_advertise;          // HOST:PORT; empty: as doorbell_listen; "none": nobody is told
  std::vector<std::string> allowed_hosts;  // Host headers taken besides those of `listen`
  std::chrono::milliseconds reap{1'000};
  std::chrono::milliseconds timers{1'000};
  std::chrono::milliseconds leader_ttl{5'000};
  std::chrono::milliseconds ready_poll{1'000};
  std::chrono::milliseconds session_retention{std::chrono::hours(7 * 24)};
  std::chrono::milliseconds request_key_retention{std::chrono::hours(30 * 24)};
  std::chrono::milliseconds journal_retention{0};  // 0: for ever
  std::string jaeger_url;                          // without a slash at its end; empty: no links to traces
  std::chrono::milliseconds content_grace{std::chrono::hours(24)};
  std::string create_api_key;
  bool health = false;                               // of workers too: ask the running process, and end
  std::string webhook_endpoints_file;                // empty: there are none
  std::string approval_link_key, approval_base_url;  // empty: approvals have no links
  std::string webhook_keys_file;                     // of workers too; empty: none
  std::string memory_url;                            // empty: no external memory
  std::string memory_token_file;                     // empty: no token is sent
  std::string memory_ca_file;                        // empty: the system's
  std::chrono::milliseconds memory_timeout{2'000};
  bool memory_allow_private_networks = false;
  std::string aegis_kernel_file, aegis_providers_file, aegis_key_file;  // no kernel: no language model is asked
  std::vector<std::string> aegis_disks;                                 // folders; empty: the working folder
  std::string aegis_index_folder;                                       // empty: no index is looked at
  // -- worker
  HostPort health_listen{"127.0.0.1", 0};
  std::vector<HostPort> coordinators{{"127.0.0.1", 8734}};  // doorbells
  std::string worker_name;                                  // empty: host name and process id
  int runs = 64;
  int slots = 200;
  std::vector<std::string> queues{"default"};
  std::chrono::milliseconds poll{500};
  std::int64_t sticky_bytes = 16 * 1024 * 1024;  // 0: none
  std::string kafka_group;                       // empty: PREFIX.workers
  std::chrono::milliseconds queue_late{30'000};
  bool local_continuation = true;
  std::vector<std::string> aegis_urls;            // coordinators that llm.ask asks; empty: none
  std::string aegis_api_key_file, aegis_ca_file;  // empty: no key is sent; the system's
  std::string work_dir = "acl-work";
  std::vector<std::string> allowed_programs;  // empty: the standard list
  bool allow_private_networks = false;
  std::vector<std::string> http_allowed_hosts;  // empty: every public one
  std::string http_ca_file;                     // empty: the system's
  std::int64_t http_max_body_bytes = 4 << 20;
  std::int64_t exec_memory_bytes = 0;     // 0: no limit
  int exec_at_once = 0;                   // 0: four for each processor
  std::vector<std::string> readable_env;  // empty: the standard list
  std::int64_t file_max_bytes = 64 << 20;
  std::int64_t files_max_bytes = 1 << 30;
  int files_max_count = 20'000;
  std::int64_t output_max_bytes = 8 << 20;
  // -- airun
  std::string server = "http://127.0.0.1:8733";
  std::string api_key;  // secret
};

struct ParsedSettings {
  Settings settings;
  bool help = false;                        // --help: print HelpText and end with 0
  bool version = false;                     // --version
  std::map<std::string, std::string> from;  // by name: "flag" or "environment"; the rest are defaults
  std::vector<std::string> warnings;        // e.g. an ACL_ variable that looks mistyped
};

// `arguments` without the program's name. kInvalid lists everything that is wrong, a line each, with what to write instead.
Result<ParsedSettings> ParseSettings(Program program, const std::vector<std::string>& arguments,
                                     const std::map<std::string, std::string>& environment);
// The process's own environment.
std::map<std::string, std::string> Environment();

// One row of the table, as text.
struct SettingInfo {
  std::string name, environment, flag, value_name, default_text, doc;
  bool secret = false;
};
std::vector<SettingInfo> SettingsOf(Program program);

std::string HelpText(Program program, const std::string& binary, const std::string& summary);
// docs/reference/settings.md: every program's settings as a page; a test holds the page to the table.
std::string SettingsMarkdown();
// What is in force, secrets masked: for the log at start.
Json ShowSettings(Program program, const Settings& settings);

}  // namespace acl
