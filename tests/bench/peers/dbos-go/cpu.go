package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const tickMicros = 10_000 // the kernel counts CPU time in hundredths of a second

// cpuMicros is the CPU of a process and everything it started, the ended included.
func cpuMicros(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // ended meanwhile: its parent counts it
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from field 3 on
	micros := 0.0
	for _, field := range fields[11:15] {
		ticks, _ := strconv.Atoi(field)
		micros += float64(ticks) * tickMicros
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, child := range strings.Fields(string(children)) {
			id, _ := strconv.Atoi(child)
			micros += cpuMicros(id)
		}
	}
	return micros
}

func sample(groups map[string][]int) map[string]float64 {
	all := map[string]float64{}
	for name, pids := range groups {
		for _, pid := range pids {
			all[name] += cpuMicros(pid)
		}
	}
	return all
}
