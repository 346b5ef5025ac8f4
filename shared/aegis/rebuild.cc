#include "shared/aegis/rebuild.h"

#include "shared/aegis/compile.h"

namespace acl::aegis {

Rebuilt TextsOf(const RenderedPrompt& prompt) {
  return {prompt.bundle().canonical(), prompt.bundle().hash(), prompt.messages(), prompt.prefix_hash(), prompt.prompt_hash()};
}

Result<Rebuilt> RebuildBundle(const Json& recorded) {
  auto input = CompileInputFromJson(recorded);
  if (!input) return input.error();
  auto bundle = Compile(std::move(*input));
  if (!bundle) return bundle.error();
  auto prompt = Render(std::move(*bundle));
  if (!prompt) return prompt.error();
  return TextsOf(*prompt);
}

}  // namespace acl::aegis
