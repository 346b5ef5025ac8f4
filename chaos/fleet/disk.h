#pragma once
// A small disk of the driver's own (XFS in a file) under PostgreSQL's folder: one that can lose what was not flushed, and that can be full.
// Mounted for this driver and its children only; it is gone with them.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl::chaos {

class Disk {
 public:
  // Why this machine cannot; nothing if it can.
  static std::optional<std::string> UnsupportedReason();
  static Result<std::unique_ptr<Disk>> Make(const std::filesystem::path& image, const std::filesystem::path& at);
  ~Disk();

  Status Mount();
  Status Unmount();
  void Flush();
  // From now on nothing reaches the disk, and what only memory had is lost: the power is gone.
  Status CutPower();
  // Whether a file can be made and written through to the disk.
  bool TakesWrites() const;
  // No block is left free.
  Status Fill();
  void Free();

 private:
  Disk(std::filesystem::path image, std::filesystem::path at) : image_(std::move(image)), at_(std::move(at)) {}
  Status Do(const std::vector<std::string>& argv) const;
  std::filesystem::path Filler() const { return at_ / "filler"; }

  const std::filesystem::path image_, at_;
  bool mounted_ = false;
};

}  // namespace acl::chaos
