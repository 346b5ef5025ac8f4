#pragma once
// Templates of first events. Two runs of one workflow, with one owner and the same names of inputs, have first events that differ in a few
// texts only: the run's id, its trace, the values of the inputs, the state's root. A template is compiled once from a run whose texts are
// marks that no request can contain; for each further run it is instantiated with that run's texts. The result is the same, byte for byte,
// as WordFirstEvent's; the compiler compares the two before a template is used. Without templates, encoding and hashing the definition for
// each run is half of the cost of making it.

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
class TextTemplate {
 public:
  TextTemplate() = default;
  // Value i goes to where marks[i] stands.
  TextTemplate(std::string_view text, const std::vector<std::string>& marks);
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

// What two runs of one workflow must have in common to share a template. A run of a project's task, with files or with a session of its
// own has none.
struct TemplateShape {
  std::string submitter;
  std::vector<std::string> inputs;  // names, in order
  bool trace = false, span = false, sampled = false;
  static std::optional<TemplateShape> Of(const CreateRequest& request, const Json& inputs);
  friend bool operator==(const TemplateShape&, const TemplateShape&) = default;
};

struct InstantiatedEvent {
  Event event;
  Hash256 state_root{};
};

class FirstEventTemplate {
 public:
  static Result<std::shared_ptr<const FirstEventTemplate>> Compile(const SubjectKind& kind, const WorkflowDefinition& definition,
                                                                   const TemplateShape& shape);
  // Of the template's shape. The inputs must be storable.
  InstantiatedEvent Instantiate(const CreateRequest& request, const Json& inputs) const;
  std::size_t bytes() const { return payload_.size() + canonical_.size(); }

 private:
  FirstEventTemplate() = default;
  struct Leaf {
    std::size_t at = 0;      // in leaves_
    TextTemplate canonical;  // of its value
  };
  std::string type_;
  TextTemplate payload_, canonical_;
  std::vector<LeafHash> leaves_;  // of the state; those of `differs_` are not filled in
  std::vector<Leaf> differs_;
};

// The templates of one workflow. A template is compiled when its shape comes for the second time; of a large workflow only the last one is
// kept. Thread-safe.
class FirstEventTemplates {
 public:
  explicit FirstEventTemplates(std::size_t most = 4) : most_(most) {}
  // As WordFirstEvent without files.
  Result<InstantiatedEvent> Make(const SubjectKind& kind, const WorkflowDefinition& definition, const CreateRequest& request, Json inputs);
  std::size_t size() const;

 private:
  struct Known {
    TemplateShape shape;
    std::shared_ptr<const FirstEventTemplate> event_template;  // null: seen once, or there is none that fits
    bool tried = false;
  };
  // What is known of the shape; asked for the second time it is `due`.
  std::shared_ptr<const FirstEventTemplate> Find(const TemplateShape& shape, bool& due);
  void Keep(const TemplateShape& shape, std::shared_ptr<const FirstEventTemplate> event_template);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Known> known_;  // the last used first
};

}  // namespace acl::workflow
