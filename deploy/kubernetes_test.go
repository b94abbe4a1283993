package deploy_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// A cluster is what kustomize makes of a folder.
type cluster struct {
	pods     map[string]core.PodTemplateSpec // of Deployments and StatefulSets, by name
	configs  map[string]core.ConfigMap
	secrets  map[string]core.Secret
	budgets  map[string]policy.PodDisruptionBudget
	policies []networking.NetworkPolicy
	services map[string]core.Service
	monitors map[string]monitoring.PodMonitor
	scaled   []scaledObject
	fixed    map[string]bool // whether the manifests say how many pods there are
	text     string
}

// A scaledObject is what these tests read of KEDA's.
type scaledObject struct {
	Spec struct {
		ScaleTargetRef struct{ Kind, Name string }
		Min            int `json:"minReplicaCount"`
		Max            int `json:"maxReplicaCount"`
		Cooldown       int `json:"cooldownPeriod"`
		Advanced       struct {
			Config struct {
				Behavior autoscaling.HorizontalPodAutoscalerBehavior
			} `json:"horizontalPodAutoscalerConfig"`
		}
		Triggers []struct {
			Type     string
			Metadata map[string]string
		}
	}
}

// manifests builds a folder of deploy/kubernetes, with the examples of its secrets, and
// decodes each document by its type: a key that Kubernetes does not know is refused.
func manifests(t *testing.T, name string) cluster {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("kubernetes")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets.env", "keys.env"} {
		if err := os.Rename(filepath.Join(dir, "example", name+".example"), filepath.Join(dir, "example", name)); err != nil {
			t.Fatal(err)
		}
	}
	if name == "components" {
		components(t, filepath.Join(dir, "example", "kustomization.yaml"))
		name = "example"
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{
		pods: map[string]core.PodTemplateSpec{}, configs: map[string]core.ConfigMap{}, secrets: map[string]core.Secret{},
		budgets: map[string]policy.PodDisruptionBudget{}, services: map[string]core.Service{},
		monitors: map[string]monitoring.PodMonitor{}, fixed: map[string]bool{},
	}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		c.text += "---\n" + string(text)
		into := func(v any) {
			t.Helper()
			if err := yaml.UnmarshalStrict(text, v); err != nil {
				t.Errorf("%s %s: %v", r.GetKind(), r.GetName(), err)
			}
		}
		// Generated names end with a hash.
		plain := r.GetName()
		switch r.GetKind() {
		case "Deployment":
			var d apps.Deployment
			into(&d)
			c.pods[plain], c.fixed[plain] = d.Spec.Template, d.Spec.Replicas != nil
		case "StatefulSet":
			var s apps.StatefulSet
			into(&s)
			for _, claim := range s.Spec.VolumeClaimTemplates {
				s.Spec.Template.Spec.Volumes = append(s.Spec.Template.Spec.Volumes, core.Volume{Name: claim.Name})
			}
			c.pods[plain], c.fixed[plain] = s.Spec.Template, s.Spec.Replicas != nil
		case "ConfigMap":
			var m core.ConfigMap
			into(&m)
			c.configs[plain] = m
		case "Secret":
			var s core.Secret
			into(&s)
			c.secrets[plain] = s
		case "PodDisruptionBudget":
			var b policy.PodDisruptionBudget
			into(&b)
			c.budgets[plain] = b
		case "NetworkPolicy":
			var p networking.NetworkPolicy
			into(&p)
			c.policies = append(c.policies, p)
		case "Service":
			var s core.Service
			into(&s)
			c.services[plain] = s
		case "PodMonitor":
			var m monitoring.PodMonitor
			into(&m)
			c.monitors[plain] = m
		case "ScaledObject":
			hasSchema(t, "testdata/keda.sh_scaledobjects.yaml", text)
			var s scaledObject
			if err := yaml.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			c.scaled = append(c.scaled, s)
		case "Namespace":
			into(&core.Namespace{})
		default:
			t.Errorf("nobody has looked at %s %s", r.GetKind(), plain)
		}
	}
	return c
}

// components turns the components of the example on, as its comment says.
func components(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, count := string(content), 0
	text = regexp.MustCompile(`(?m)^# (components:|  - \.\./components/)`).ReplaceAllStringFunc(text, func(s string) string {
		count++
		return strings.TrimPrefix(s, "# ")
	})
	plain := regexp.MustCompile(`(?m)^replicas:\n  .*\n`).ReplaceAllString(text, "")
	if count != 4 || plain == text {
		t.Fatalf("the example has not three components and the replicas of workers:\n%s", text)
	}
	if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hasSchema holds an object to the schema of a definition of its kind. A key that the
// schema has not is refused, as the API server would leave it out.
func hasSchema(t *testing.T, definition string, object []byte) {
	t.Helper()
	content, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema any }
			}
		}
	}
	var v any
	if err := yaml.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(object, &v); err != nil {
		t.Fatal(err)
	}
	schema := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	closed(schema)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("definition.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("definition.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, object)
	}
}

// closed lets the objects of a schema have no keys but those that it lists. Those of
// metadata it leaves to Kubernetes.
func closed(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, ok := s["properties"].(map[string]any); ok && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, v := range s {
			closed(v)
		}
	case []any:
		for _, v := range s {
			closed(v)
		}
	}
}

// folders of deploy/kubernetes that can be built, and the example with its components.
var folders = []string{"base", "example", "components"}

func TestPodsAreHardened(t *testing.T) {
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			for name, pod := range manifests(t, folder).pods {
				spec, c := pod.Spec, pod.Spec.Containers[0]
				s, of := c.SecurityContext, spec.SecurityContext
				yes := func(b *bool) bool { return b != nil && *b }
				no := func(b *bool) bool { return b != nil && !*b }
				for what, ok := range map[string]bool{
					"one container":            len(spec.Containers) == 1 && len(spec.InitContainers) == 0,
					"a user that is not root":  yes(of.RunAsNonRoot) && *of.RunAsUser > 0 && *of.RunAsGroup > 0,
					"a seccomp profile":        of.SeccompProfile != nil && of.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
					"a read-only root":         yes(s.ReadOnlyRootFilesystem),
					"no new privileges":        no(s.AllowPrivilegeEscalation),
					"no capability":            len(s.Capabilities.Drop) == 1 && s.Capabilities.Drop[0] == "ALL" && len(s.Capabilities.Add) == 0,
					"no token of the cluster":  no(spec.AutomountServiceAccountToken),
					"no variables of services": no(spec.EnableServiceLinks),
					"a grace period":           spec.TerminationGracePeriodSeconds != nil,
					"probes":                   c.ReadinessProbe != nil && c.LivenessProbe != nil,
					"requests":                 !c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(),
					"a bound on memory":        !c.Resources.Limits.Memory().IsZero(),
					"a pinned image":           pinned.MatchString(c.Image) || folder == "base" && c.Image == "evalfarm",
				} {
					if !ok {
						t.Errorf("%s has not %s", name, what)
					}
				}
				for _, m := range c.VolumeMounts {
					if !slices.ContainsFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
						t.Errorf("%s mounts %s, which there is not", name, m.Name)
					}
				}
				for _, v := range spec.Volumes {
					if v.HostPath != nil {
						t.Errorf("%s reaches the host by %s", name, v.Name)
					}
				}
			}
		})
	}
}

func TestPodsCommands(t *testing.T) {
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			c := manifests(t, folder)
			farm := filepath.Join(t.TempDir(), "farm.yaml")
			for name, m := range c.configs {
				switch {
				case strings.HasPrefix(name, "evalfarm-farm"):
					if err := os.WriteFile(farm, []byte(m.Data["farm.yaml"]), 0o600); err != nil {
						t.Fatal(err)
					}
				case strings.HasPrefix(name, "evalfarm-suites"):
					file := filepath.Join(t.TempDir(), "suite.yaml")
					if err := os.WriteFile(file, []byte(m.Data["suite.yaml"]), 0o600); err != nil {
						t.Fatal(err)
					}
					evalfarm(t, nil, "validate", file)
				}
			}
			for _, name := range []string{"scheduler", "worker"} {
				pod := c.pods[name]
				main := pod.Spec.Containers[0]
				env := map[string]string{}
				for _, e := range main.Env {
					env[e.Name] = e.Value
				}
				var files []string
				for _, m := range main.VolumeMounts {
					for _, v := range pod.Spec.Volumes {
						if v.Name != m.Name || v.Secret == nil {
							continue
						}
						for _, item := range v.Secret.Items {
							files = append(files, path.Join(m.MountPath, item.Path))
							if s, ok := c.secrets[v.Secret.SecretName]; folder != "base" && (!ok || len(s.Data[item.Key]) == 0) {
								t.Errorf("%s wants %s of the secret %s, which has it not", name, item.Key, v.Secret.SecretName)
							}
						}
					}
				}
				// Servers are started in the folder of their suite.
				if suites := slices.ContainsFunc(main.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == "/suites" }); suites != (folder != "base") {
					t.Errorf("%s has the suites: %t", name, suites)
				}
				known(t, main.Args, env)
				secretFiles(t, env, files)
				farmFile(t, farm, name, env, files)
				if b, ok := c.budgets[name]; !ok || b.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != pod.Labels["app.kubernetes.io/name"] {
					t.Errorf("%s has no disruption budget", name)
				}
				stop := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
				if name == "worker" && stop < grace(t, main.Args)+ending {
					t.Errorf("the worker is killed after %s, and may need %s", stop, grace(t, main.Args)+ending)
				}
			}
		})
	}
}

// Each service selects pods that serve its port.
func TestServicesSelectPods(t *testing.T) {
	c := manifests(t, "example")
	for name, s := range c.services {
		pod, ok := c.pods[name]
		if !ok || !matches(s.Spec.Selector, pod.Labels) {
			t.Errorf("the service %s selects no pod", name)
			continue
		}
		for _, port := range s.Spec.Ports {
			if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p core.ContainerPort) bool { return p.ContainerPort == port.Port }) {
				t.Errorf("the pods of the service %s do not serve %d", name, port.Port)
			}
		}
	}
}

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// Who reaches whom by the network policies, as Kubernetes adds them up: Prometheus and a
// collector in the namespace monitoring with the components, and nobody without.
func TestNetworkPolicies(t *testing.T) {
	for _, folder := range []string{"example", "components"} {
		t.Run(folder, func(t *testing.T) { networkPolicies(t, manifests(t, folder), folder == "components") })
	}
}

func networkPolicies(t *testing.T, c cluster, watched bool) {
	selects := func(s *meta.LabelSelector, labels map[string]string) bool {
		if !matches(s.MatchLabels, labels) {
			return false
		}
		for _, e := range s.MatchExpressions {
			if e.Operator != "In" {
				t.Fatalf("this test knows no operator %s", e.Operator)
			}
			if !slices.Contains(e.Values, labels[e.Key]) {
				return false
			}
		}
		return true
	}
	allows := func(peers []networking.NetworkPolicyPeer, ports []networking.NetworkPolicyPort, other map[string]string, port int) bool {
		at := len(ports) == 0 || slices.ContainsFunc(ports, func(p networking.NetworkPolicyPort) bool { return p.Port.IntValue() == port })
		return at && slices.ContainsFunc(peers, func(p networking.NetworkPolicyPeer) bool {
			here := p.NamespaceSelector == nil && other["namespace"] == "" ||
				p.NamespaceSelector != nil && p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] == other["namespace"]
			return p.PodSelector != nil && here && selects(p.PodSelector, other)
		})
	}
	reaches := func(from, to map[string]string, port int) bool {
		out, in := false, false
		for _, p := range c.policies {
			if selects(&p.Spec.PodSelector, from) {
				for _, e := range p.Spec.Egress {
					out = out || allows(e.To, e.Ports, to, port)
				}
			}
			if selects(&p.Spec.PodSelector, to) {
				for _, i := range p.Spec.Ingress {
					in = in || allows(i.From, i.Ports, from, port)
				}
			}
		}
		// Policies of other namespaces are not ours.
		return (out || from["namespace"] != "") && (in || to["namespace"] != "")
	}
	want := map[string]bool{
		"scheduler redis": true, "worker redis": true, "worker scheduler": true, "scheduler postgres": true,
	}
	for _, name := range []string{"scheduler", "worker"} {
		want["prometheus "+name+" health"], want[name+" otelcol"] = watched, watched
	}
	ports := map[string]int{"redis": 6379, "postgres": 5432, "scheduler": 8090, "scheduler health": 8091, "worker health": 8091, "otelcol": 4318}
	labels := map[string]map[string]string{"stranger": {"app.kubernetes.io/name": "stranger"}}
	for _, name := range []string{"prometheus", "otelcol"} {
		labels[name] = map[string]string{"app.kubernetes.io/name": name, "namespace": "monitoring"}
	}
	for name, pod := range c.pods {
		labels[name] = pod.Labels
	}
	for from, of := range labels {
		for to, port := range ports {
			pod, _, _ := strings.Cut(to, " ")
			if of["namespace"] != "" && labels[pod]["namespace"] != "" {
				continue
			}
			if got := reaches(of, labels[pod], port); got != want[from+" "+to] {
				t.Errorf("%s reaches %s: %t, want %t", from, to, got, want[from+" "+to])
			}
		}
	}
	// And the rest is denied.
	if !slices.ContainsFunc(c.policies, func(p networking.NetworkPolicy) bool {
		return len(p.Spec.PodSelector.MatchLabels) == 0 && len(p.Spec.PolicyTypes) == 2 && len(p.Spec.Ingress)+len(p.Spec.Egress) == 0
	}) {
		t.Error("no policy denies what the others do not allow")
	}
}

// Each monitor selects pods, under the job that the alerts know, at a port with metrics.
func TestPodMonitors(t *testing.T) {
	c := manifests(t, "components")
	for _, name := range []string{"scheduler", "worker"} {
		m, ok := c.monitors[name]
		if !ok || !matches(m.Spec.Selector.MatchLabels, c.pods[name].Labels) || c.pods[name].Labels[m.Spec.JobLabel] != name {
			t.Errorf("no monitor selects the job %s: %+v", name, m.Spec)
			continue
		}
		for _, e := range m.Spec.PodMetricsEndpoints {
			if e.Path != "/metrics" || !slices.ContainsFunc(c.pods[name].Spec.Containers[0].Ports, func(p core.ContainerPort) bool { return p.Name == *e.Port }) {
				t.Errorf("%s has no port %s", name, *e.Port)
			}
		}
	}
}

func TestAutoscaling(t *testing.T) {
	if c := manifests(t, "example"); !c.fixed["worker"] {
		t.Error("without KEDA nobody says how many workers there are")
	}
	c := manifests(t, "components")
	if len(c.scaled) != 1 {
		t.Fatalf("got %d objects that scale, want one", len(c.scaled))
	}
	s := c.scaled[0].Spec
	if c.fixed["worker"] || s.ScaleTargetRef.Kind != "StatefulSet" || s.ScaleTargetRef.Name != "worker" || s.Min < 1 || s.Max <= s.Min {
		t.Errorf("it scales %+v from %d to %d workers, and the manifests have a number: %t", s.ScaleTargetRef, s.Min, s.Max, c.fixed["worker"])
	}
	// A worker ends its trials before the next one is taken away.
	drain := int32(*c.pods["worker"].Spec.TerminationGracePeriodSeconds)
	down := s.Advanced.Config.Behavior.ScaleDown
	if down == nil || len(down.Policies) != 1 {
		t.Fatalf("got %+v, want one rule for the way down", down)
	}
	if p := down.Policies[0]; p.Type != autoscaling.PodsScalingPolicy || p.Value != 1 || p.PeriodSeconds < drain || *down.StabilizationWindowSeconds < drain || int32(s.Cooldown) < drain {
		t.Errorf("workers go by %+v after %d s, and each may take %d s", p, *down.StabilizationWindowSeconds, drain)
	}
	// What KEDA's scaler for Prometheus takes (pkg/scalers/prometheus_scaler.go).
	keys := []string{"serverAddress", "query", "queryParameters", "threshold", "activationThreshold", "namespace", "customHeaders", "ignoreNullValues", "unsafeSsl", "timeout"}
	for _, trigger := range s.Triggers {
		for key := range trigger.Metadata {
			if trigger.Type != "prometheus" || !slices.Contains(keys, key) {
				t.Errorf("there is no %s of %s", key, trigger.Type)
			}
		}
		if _, err := strconv.ParseFloat(trigger.Metadata["threshold"], 64); err != nil || trigger.Metadata["serverAddress"] == "" {
			t.Errorf("got %+v", trigger.Metadata)
		}
		// One number, and no series of several.
		if of := promql(t, trigger.Metadata["query"]); len(of) > 0 {
			t.Errorf("%s has the labels %q", trigger.Metadata["query"], of)
		}
	}
	if len(s.Triggers) == 0 || !strings.Contains(s.Triggers[0].Metadata["query"], "evalfarm_queue_oldest_age_seconds") {
		t.Error("the age of the queue does not come first")
	}
}
