#pragma once
// First events of runs of one workflow, made from one that was worded before: of two runs with the same owner and the same names of inputs
// they differ in a few words (the run's id, its trace, the inputs' values, the state's root), and wording and hashing the workflow anew for
// each was half of what making a run cost. A mold is cast from a run whose words are marks that nobody else would say; what is poured is
// the same, byte for byte, as what WordFirstEvent says, and is compared with it once before the mold is used.

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/journal/leaf_root.h"
#include "shared/workflow/create_run.h"

namespace acl::workflow {

// A text with places for values.
class MoldText {
 public:
  MoldText() = default;
  // Value i goes to where marks[i] stands.
  MoldText(std::string_view text, const std::vector<std::string>& marks);
  bool fixed() const { return places_.empty(); }
  std::size_t size() const { return text_.size(); }
  std::string Fill(const std::vector<std::string_view>& values) const;

 private:
  struct Place {
    std::size_t at = 0;  // after so much of the text
    std::size_t value = 0;
  };
  std::string text_;
  std::vector<Place> places_;
};

// What runs of one workflow must have in common to be of one mold. Runs of a task, with files or with a session of their own are of none.
struct MoldShape {
  std::string submitter;
  std::vector<std::string> inputs;  // names, in order
  bool trace = false, span = false, sampled = false;
  static std::optional<MoldShape> Of(const CreateRequest& request, const Json& inputs);
  friend bool operator==(const MoldShape&, const MoldShape&) = default;
};

struct Poured {
  Event event;
  Hash256 state_root{};
};

class RunMold {
 public:
  static Result<std::shared_ptr<const RunMold>> Cast(const SubjectKind& kind, const WorkflowSpec& spec, const MoldShape& shape);
  // Of the mold's shape. The inputs must be storable.
  Poured Pour(const CreateRequest& request, const Json& inputs) const;
  std::size_t bytes() const { return payload_.size() + canonical_.size(); }

 private:
  RunMold() = default;
  struct Leaf {
    std::size_t at = 0;  // in leaves_
    MoldText canonical;  // of its value
  };
  std::string type_;
  MoldText payload_, canonical_;
  std::vector<LeafHash> leaves_;  // of the state; those of `differs_` are not filled in
  std::vector<Leaf> differs_;
};

// The molds of one workflow, made when a shape comes for the second time; of a large workflow only the last. Thread-safe.
class RunMolds {
 public:
  explicit RunMolds(std::size_t most = 4) : most_(most) {}
  // As WordFirstEvent without files.
  Result<Poured> Make(const SubjectKind& kind, const WorkflowSpec& spec, const CreateRequest& request, Json inputs);
  std::size_t size() const;

 private:
  struct Known {
    MoldShape shape;
    std::shared_ptr<const RunMold> mold;  // null: seen once, or there is none that fits
    bool tried = false;
  };
  // What is known of the shape; asked for the second time it is `due`.
  std::shared_ptr<const RunMold> Find(const MoldShape& shape, bool& due);
  void Keep(const MoldShape& shape, std::shared_ptr<const RunMold> mold);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Known> known_;  // the last used first
};

}  // namespace acl::workflow
