package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// The same work as ../work.mjs.
const steps = 10
const note = "a step that does nothing but answer, with as many bytes as the answer of a small tool often has"

type answer struct {
	Run   string `json:"run"`
	Step  int    `json:"step"`
	After int    `json:"after"`
	Note  string `json:"note"`
}

type result struct {
	Run   string `json:"run"`
	Steps int    `json:"steps"`
	Last  answer `json:"last"`
}

func tenSteps(ctx dbos.Context, run string) (result, error) {
	var last answer
	for k := 1; k <= steps; k++ {
		before := last.Step
		done, err := dbos.RunAsStep(ctx, func(context.Context) (answer, error) {
			return answer{run, k, before, strings.Clone(note)}, nil
		}, dbos.WithStepName("oneStep"))
		if err != nil {
			return result{}, err
		}
		last = done
	}
	return result{run, last.Step, last}, nil
}

// runOnce submits a run and answers when its result was seen and is right.
func runOnce(ctx dbos.Context, run string) error {
	handle, err := dbos.RunWorkflow(ctx, tenSteps, run)
	if err != nil {
		return err
	}
	seen, err := handle.GetResult()
	if err != nil {
		return err
	}
	if want := (result{run, steps, answer{run, steps, steps - 1, note}}); seen != want {
		return fmt.Errorf("wrong result of %s: %+v", run, seen)
	}
	return nil
}
