// Judge says what Argo CD makes of objects with the customizations of an argocd-cm: one JSON question on a line of stdin
// gives one JSON answer on a line of stdout.
//
// A question holds an object and, where an action is to be run, its name. The environment variables HEALTH and ACTIONS
// hold the two values of argocd-cm that are about the object's kind, and KIND their key, group_Kind.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type question struct {
	Object map[string]any `json:"object"`
	Action string         `json:"action"`
}

type answer struct {
	Health  *health.HealthStatus `json:"health,omitempty"`
	Actions map[string]bool      `json:"actions,omitempty"`
	Changed []map[string]any     `json:"changed,omitempty"`
	Error   string               `json:"error,omitempty"`
}

func main() {
	overrides := map[string]v1alpha1.ResourceOverride{
		os.Getenv("KIND"): {HealthLua: os.Getenv("HEALTH"), Actions: os.Getenv("ACTIONS")},
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fail(err)
		}
		said, err := judge(asked, overrides)
		if err != nil {
			said = &answer{Error: err.Error()}
		}
		if err := out.Encode(said); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func judge(asked question, overrides map[string]v1alpha1.ResourceOverride) (*answer, error) {
	vm := lua.VM{ResourceOverrides: overrides}
	object := &unstructured.Unstructured{Object: asked.Object}
	if asked.Action != "" {
		return act(vm, object, asked.Action)
	}
	found, err := lua.ResourceHealthOverrides(overrides).GetResourceHealth(object)
	if err != nil {
		return nil, err
	}
	scripts, err := vm.GetResourceActionDiscovery(object)
	if err != nil {
		return nil, err
	}
	offered, err := vm.ExecuteResourceActionDiscovery(object, scripts)
	if err != nil {
		return nil, err
	}
	actions := map[string]bool{}
	for _, each := range offered {
		actions[each.Name] = !each.Disabled
	}
	return &answer{Health: found, Actions: actions}, nil
}

func act(vm lua.VM, object *unstructured.Unstructured, name string) (*answer, error) {
	action, err := vm.GetResourceAction(object, name)
	if err != nil {
		return nil, err
	}
	impacted, err := vm.ExecuteResourceAction(object, action.ActionLua, nil)
	if err != nil {
		return nil, err
	}
	said := &answer{}
	for _, each := range impacted {
		said.Changed = append(said.Changed, each.UnstructuredObj.Object)
	}
	return said, nil
}
