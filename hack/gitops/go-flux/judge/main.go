// Judge says what Flux makes of objects: one JSON object on a line of stdin gives one JSON answer on a line of stdout.
//
// The answer has the status and the message of kstatus. Where the environment variable EXPRESSIONS holds Flux's
// healthCheckExprs as JSON, the answer has their status as well.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type answer struct {
	Status      string `json:"status"`
	Message     string `json:"message"`
	Expressions string `json:"expressions,omitempty"`
	Error       string `json:"error,omitempty"`
}

func main() {
	evaluator, err := evaluator(os.Getenv("EXPRESSIONS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		said, err := judge(lines.Bytes(), evaluator)
		if err == nil {
			err = out.Encode(said)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func evaluator(text string) (*cel.StatusEvaluator, error) {
	if text == "" {
		return nil, nil
	}
	var expressions kustomize.HealthCheckExpressions
	if err := json.Unmarshal([]byte(text), &expressions); err != nil {
		return nil, fmt.Errorf("EXPRESSIONS: %w", err)
	}
	return cel.NewStatusEvaluator(&expressions)
}

func judge(line []byte, evaluator *cel.StatusEvaluator) (*answer, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(line); err != nil {
		return nil, err
	}
	found, err := status.Compute(object)
	if err != nil {
		return nil, err
	}
	said := &answer{Status: found.Status.String(), Message: found.Message}
	if evaluator == nil {
		return said, nil
	}
	by, err := evaluator.Evaluate(context.Background(), object)
	if err != nil {
		said.Error = err.Error()
		return said, nil
	}
	said.Expressions = by.Status.String()
	return said, nil
}
