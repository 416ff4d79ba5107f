// Checks kept histories (see ../__main__.py) with Porcupine, and compares its verdict with the one in each file's name.
//
//	go run . FOLDER/*.json
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const patience = 20 * time.Second

// What was asked and answered; a lost call is one whose answer never came, so that it may not have happened.
type call struct {
	kind   string // Transaction, Fence, or of an oracle: read, write, apply
	number *int   // the epoch, or the timestamp
	steps  []step
	lost   bool
}

type step struct {
	kind   string
	key    string
	value  *int
	values []int // answer of a read
	count  *int  // answer of an update or a delete
}

type tables struct {
	epoch  int
	values map[string][]int
}

type oracle struct{ read, write int }

func main() {
	agreed, undecided, differing := 0, 0, 0
	for _, path := range os.Args[1:] {
		history, isOracle := load(path)
		model := porcupine.Model{Init: func() any { return tables{} }, Step: stepOf(stepTables), Equal: sameTables}
		if isOracle {
			model = porcupine.Model{Init: func() any { return oracle{1, 1} }, Step: stepOf(stepOracle)}
		}
		wanted := porcupine.Ok
		if strings.Contains(path, "-unordered") {
			wanted = porcupine.Illegal
		}
		switch verdict := porcupine.CheckOperationsTimeout(model, history, patience); verdict {
		case wanted:
			agreed++
		case porcupine.Unknown:
			undecided++
		default:
			differing++
			fmt.Printf("%s: %s\n", path, verdict)
		}
	}
	fmt.Printf("%d as said, %d undecided in %s, %d not as said\n", agreed, undecided, patience, differing)
	if differing > 0 {
		os.Exit(1)
	}
}

func stepOf(step func(state any, c call) (bool, any)) func(state, input, output any) (bool, any) {
	return func(state, input, _ any) (bool, any) {
		c := input.(call)
		ok, after := step(state, c)
		if !ok && c.lost {
			return true, state
		}
		return ok, after
	}
}

func stepTables(state any, c call) (bool, any) {
	before := state.(tables)
	if c.kind == "Fence" {
		return true, tables{*c.number, before.values}
	}
	after := tables{before.epoch, map[string][]int{}}
	for key, held := range before.values {
		after.values[key] = held
	}
	for _, s := range c.steps {
		held := after.values[s.key]
		switch s.kind {
		case "read":
			if !slices.Equal(held, s.values) {
				return false, nil
			}
			continue
		case "append", "insert":
			held = append(slices.Clone(held), *s.value)
			if s.kind == "insert" {
				slices.Sort(held)
			}
		case "update", "delete":
			if s.count != nil && *s.count != len(held) {
				return false, nil
			}
			if s.kind == "delete" {
				held = nil
			} else {
				held = slices.Repeat([]int{*s.value}, len(held))
			}
		}
		after.values[s.key] = held
	}
	if *c.number < before.epoch && !sameTables(before, after) {
		return false, nil
	}
	return true, after
}

func sameTables(one, other any) bool {
	a, b := one.(tables), other.(tables)
	for key := range a.values {
		if !slices.Equal(a.values[key], b.values[key]) {
			return false
		}
	}
	for key := range b.values {
		if len(a.values[key]) == 0 && len(b.values[key]) != 0 {
			return false
		}
	}
	return a.epoch == b.epoch
}

func stepOracle(state any, c call) (bool, any) {
	now := state.(oracle)
	if c.number == nil {
		return true, now
	}
	switch ts := *c.number; c.kind {
	case "read":
		return ts == now.read, now
	case "write":
		return ts > now.write, oracle{now.read, ts}
	default:
		return true, oracle{max(now.read, ts), max(now.write, ts)}
	}
}

func load(path string) (history []porcupine.Operation, isOracle bool) {
	text, err := os.ReadFile(path)
	must(err)
	var rows [][4]json.RawMessage
	must(json.Unmarshal(text, &rows))
	for _, row := range rows {
		var parts []json.RawMessage
		var returned *int64
		operation := porcupine.Operation{Return: math.MaxInt64}
		c := call{kind: decode[string](row[2])}
		must(json.Unmarshal(row[0], &operation.Call))
		must(json.Unmarshal(row[1], &returned))
		must(json.Unmarshal(row[3], &parts))
		if returned != nil {
			operation.Return = *returned
		}
		c.lost = returned == nil
		if c.kind == "OracleCall" {
			c.kind, c.number, isOracle = decode[string](parts[0]), decode[*int](parts[1]), true
		} else {
			c.number = decode[*int](parts[0])
		}
		if c.kind == "Transaction" {
			for _, s := range decode[[][4]json.RawMessage](parts[1]) {
				next := step{kind: decode[string](s[0]), key: string(s[1]), value: decode[*int](s[2])}
				if next.kind == "read" {
					next.values = decode[[]int](s[3])
				} else {
					next.count = decode[*int](s[3])
				}
				c.steps = append(c.steps, next)
			}
		}
		operation.Input = c
		history = append(history, operation)
	}
	return history, isOracle
}

func decode[T any](text json.RawMessage) (found T) {
	must(json.Unmarshal(text, &found))
	return found
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
