#include <fmt/format.h>
#include <zip.h>

#include <set>

#include "shared/capability/handlers.h"

namespace acl {

namespace {

constexpr std::string_view kEmptyArchive("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

struct Member {
  std::string path;  // of the run
  int mode = 0644;
  bool is_dir = false;  // one in which nothing lies; the others are there by what lies in them
};

// Name in the archive -> file. A file goes in by its base name, a directory with its own name in front.
Result<std::map<std::string, Member>> Members(const Json& sources, bool recursive, const std::string& output, const CallContext& context) {
  Workspace& files = *context.workspace;
  std::map<std::string, Member> members;
  auto add = [&](const std::string& name, const std::string& path, const FileEntry& entry) -> Status {
    if (path == output) return {};  // the archive itself, of an earlier run of the step
    if (name.find('\\') != std::string::npos)
      return Error{Code::kInvalid, fmt::format("'{}': many programs read a backslash in an archive as a folder; rename it", path)};
    auto [it, fresh] = members.emplace(name, Member{path, entry.mode, entry.is_dir});
    if (!fresh && it->second.path != path) {
      return Error{Code::kInvalid, fmt::format("'{}' and '{}' would both be '{}' in the archive; zip the directory above them",
                                               it->second.path, path, name)};
    }
    return {};
  };
  for (const auto& source : sources) {
    if (!source.is_string()) return Error{Code::kInvalid, "source_paths: each must be a string"};
    auto path = NormalisePath(source.get_ref<const std::string&>());
    if (!path) return path.error();
    auto entry = files.Stat(*path);
    if (!entry) return entry.error();
    if (!*entry) continue;  // missing sources are skipped
    if (!(*entry)->is_dir) {
      if (auto added = add(BaseName(*path), *path, **entry); !added) return added.error();
      continue;
    }
    auto listed = files.List(*path, recursive);
    if (!listed) return listed.error();
    std::string prefix = path->empty() ? "" : BaseName(*path) + "/";
    if (listed->empty() && recursive && !path->empty()) {
      if (auto added = add(prefix, *path, **entry); !added) return added.error();
    }
    std::set<std::string> holding;  // directories in which something lies
    for (const auto& [name, child] : *listed) holding.insert(ParentPath(name));
    for (const auto& [name, child] : *listed) {
      if (Late(context, "packing")) return Error{Code::kCancelled, "stopped while packing"};
      if (child.is_dir) {
        if (holding.contains(name) || !recursive) continue;
        if (auto added = add(prefix + name.substr(path->empty() ? 0 : path->size() + 1) + "/", name, child); !added) return added.error();
        continue;
      }
      if (auto added = add(prefix + name.substr(path->empty() ? 0 : path->size() + 1), name, child); !added) return added.error();
    }
  }
  return members;
}

struct ZipCloser {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
struct SourceFreer {
  void operator()(zip_source_t* source) const { ::zip_source_free(source); }
};

// The mode, and nothing that tells when or where the archive was made.
void SetPlain(zip_t* archive, zip_uint64_t at, zip_uint32_t mode, zip_uint32_t dos_attributes) {
  ::zip_file_set_dostime(archive, at, 0, 0x0021, 0);  // 1980-01-01 00:00:00, the format's first
  ::zip_file_set_external_attributes(archive, at, 0, ZIP_OPSYS_UNIX, mode << 16 | dos_attributes);
}

// The same files give the same bytes, whenever and wherever: sorted names, one fixed time, modes, no comments.
Result<std::string> Pack(const std::map<std::string, Member>& members, int level, Workspace& files, const CallContext& context) {
  if (members.empty()) return std::string(kEmptyArchive);
  zip_error_t error;
  ::zip_error_init(&error);
  std::unique_ptr<zip_source_t, SourceFreer> target(::zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!target) return Error{Code::kInternal, fmt::format("zip: {}", ::zip_error_strerror(&error))};
  ::zip_source_keep(target.get());  // opening takes one reference, reading the bytes afterwards another
  std::unique_ptr<zip_t, ZipCloser> archive(::zip_open_from_source(target.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!archive) {
    ::zip_source_free(target.get());
    return Error{Code::kInternal, fmt::format("zip: {}", ::zip_error_strerror(&error))};
  }
  std::vector<std::string> contents;
  contents.reserve(members.size());  // libzip reads them when the archive is closed
  std::int64_t total = 0;
  for (const auto& [name, member] : members) {
    if (Late(context, "packing")) return Error{Code::kCancelled, "stopped while packing"};
    if (member.is_dir) {
      const zip_int64_t index = ::zip_dir_add(archive.get(), name.c_str(), ZIP_FL_ENC_UTF_8);
      if (index < 0) return Error{Code::kInvalid, fmt::format("zip: '{}': {}", name, ::zip_strerror(archive.get()))};
      SetPlain(archive.get(), zip_uint64_t(index), 0040000u | zip_uint32_t(member.mode), 0x10);
      continue;
    }
    auto bytes = files.Read(member.path);
    if (!bytes) return bytes.error();
    total += std::int64_t(bytes->size());
    if (total > 4 * files.limits().max_file_bytes) {
      return Error{Code::kInvalid, fmt::format("the files to pack have more than {} bytes", 4 * files.limits().max_file_bytes)};
    }
    contents.push_back(std::move(*bytes));
    zip_source_t* source = ::zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0);
    zip_int64_t index = source ? ::zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      std::string words = ::zip_strerror(archive.get());
      if (source) ::zip_source_free(source);
      return Error{Code::kInvalid, fmt::format("zip: '{}': {}", name, words)};
    }
    auto at = zip_uint64_t(index);
    bool store = level == 0;
    ::zip_set_file_compression(archive.get(), at, store ? ZIP_CM_STORE : ZIP_CM_DEFLATE, store ? 0 : zip_uint32_t(level));
    SetPlain(archive.get(), at, 0100000u | zip_uint32_t(member.mode), 0);
  }
  // Compressing is done now: it is asked whether to go on.
  const auto late = [](zip_t*, void* of) { return Late(*static_cast<const CallContext*>(of), "packing") ? 1 : 0; };
  ::zip_register_cancel_callback_with_state(archive.get(), late, nullptr, const_cast<CallContext*>(&context));
  const bool closed = ::zip_close(archive.get()) == 0;
  if (!closed && Late(context, "packing")) return Error{Code::kCancelled, "stopped while packing"};
  if (!closed) return Error{Code::kInternal, fmt::format("zip: {}", ::zip_strerror(archive.get()))};
  (void)archive.release();  // closed
  zip_stat_t stat;
  ::zip_stat_init(&stat);
  if (::zip_source_stat(target.get(), &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) || ::zip_source_open(target.get()) != 0) {
    return Error{Code::kInternal, "zip: the archive cannot be read back"};
  }
  std::string packed(stat.size, '\0');
  zip_int64_t n = ::zip_source_read(target.get(), packed.data(), packed.size());
  ::zip_source_close(target.get());
  if (n != zip_int64_t(packed.size())) return Error{Code::kInternal, "zip: the archive cannot be read back"};
  return packed;
}

StepResult Zip(const Json& parameters, CallContext& context) {
  auto output = NormalisePath(StringOf(parameters, "output_path"));
  if (!output) return Failed(output.error());
  auto level = std::int64_t(NumberOf(parameters, "compression_level", 6));
  if (level < 0 || level > 9) return Failed("compression_level must be 0 (store) to 9");
  auto members = Members(parameters.at("source_paths"), FlagOf(parameters, "recursive"), *output, context);
  if (!members && members.code() != Code::kCancelled) return Failed(members.error());
  auto packed = members ? Pack(*members, int(level), *context.workspace, context) : Result<std::string>(members.error());
  if (!packed && packed.code() == Code::kCancelled) {
    return Ended(context.stop.stopped() ? StepResult::Outcome::kCancelled : StepResult::Outcome::kTimedOut, packed.message());
  }
  if (!packed) return Failed(packed.error());
  const auto file_count = std::count_if(members->begin(), members->end(), [](const auto& member) { return !member.second.is_dir; });
  auto written = context.workspace->Write(*output, *packed, true);
  if (!written) return Failed(written.error());
  return Done({{"archive_path", LogicalPath(*output)}, {"file_count", file_count}, {"compressed_size", packed->size()}, {"success", true}});
}

}  // namespace

void AddArchive(CapabilityRegistry& registry, const ConfigPtr&) {
  CapabilityDefinition zip;
  zip.id = "sys.archive.zip";
  zip.summary = "Pack files of the run into a zip archive.";
  zip.docs =
      "A file goes in by its base name, a directory with its own name in front. Sources that are not there are skipped. The same files "
      "always give "
      "the same bytes: names are sorted, times fixed. Directories above output_path are made. Directories in which nothing lies are kept.";
  zip.parameters = {{.name = "source_paths", .type = "array", .description = "files and directories below /workspace", .required = true},
                    PathField("output_path", "the archive"),
                    {.name = "compression_level",
                     .type = "integer",
                     .description = "0 (store) to 9",
                     .default_value = Json(6),
                     .check_literal = OutOfRange<0, 9>},
                    Flag("recursive", true, "directories with everything below them; false: only the files directly in them")};
  zip.results = {Out("archive_path", "string", "path from /workspace"), Out("file_count", "integer", "files in it"),
                 Out("compressed_size", "integer", "its bytes"), OutSuccess()};
  zip.risk = RiskLevel::kMedium;
  zip.undo = UndoKind::kFiles;
  registry.Add(std::move(zip), Zip);
}

}  // namespace acl
