// compose-check FILE: reads a compose file as Docker Compose does (compose-go is its own reader: schema, anchors, variables, what depends on
// what) and prints it as one JSON, or says what is wrong.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithProfiles([]string{"*"}), cli.WithOsEnv)
	if err == nil {
		project, wrong := options.LoadProject(context.Background())
		if wrong == nil {
			json.NewEncoder(os.Stdout).Encode(project)
			return
		}
		err = wrong
	}
	fmt.Fprintln(os.Stderr, "compose-check:", err)
	os.Exit(1)
}
