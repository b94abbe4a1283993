package deploy_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
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
	text     string
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
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{
		pods: map[string]core.PodTemplateSpec{}, configs: map[string]core.ConfigMap{}, secrets: map[string]core.Secret{},
		budgets: map[string]policy.PodDisruptionBudget{}, services: map[string]core.Service{},
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
			c.pods[plain] = d.Spec.Template
		case "StatefulSet":
			var s apps.StatefulSet
			into(&s)
			for _, claim := range s.Spec.VolumeClaimTemplates {
				s.Spec.Template.Spec.Volumes = append(s.Spec.Template.Spec.Volumes, core.Volume{Name: claim.Name})
			}
			c.pods[plain] = s.Spec.Template
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
		case "Namespace":
			into(&core.Namespace{})
		default:
			t.Errorf("nobody has looked at %s %s", r.GetKind(), plain)
		}
	}
	return c
}

// folders of deploy/kubernetes that can be built.
var folders = []string{"base", "example"}

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
							if s, ok := c.secrets[v.Secret.SecretName]; folder == "example" && (!ok || len(s.Data[item.Key]) == 0) {
								t.Errorf("%s wants %s of the secret %s, which has it not", name, item.Key, v.Secret.SecretName)
							}
						}
					}
				}
				// Servers are started in the folder of their suite.
				if suites := slices.ContainsFunc(main.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == "/suites" }); suites != (folder == "example") {
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

// Who reaches whom by the network policies, as Kubernetes adds them up.
func TestNetworkPolicies(t *testing.T) {
	c := manifests(t, "example")
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
			return p.PodSelector != nil && p.NamespaceSelector == nil && selects(p.PodSelector, other)
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
		return out && in
	}
	want := map[string]bool{
		"scheduler redis": true, "worker redis": true, "worker scheduler": true, "scheduler postgres": true,
	}
	ports := map[string]int{"redis": 6379, "postgres": 5432, "scheduler": 8090, "worker": 8091}
	labels := map[string]map[string]string{"stranger": {"app.kubernetes.io/name": "stranger"}}
	for name, pod := range c.pods {
		labels[name] = pod.Labels
	}
	for from, of := range labels {
		for to, port := range ports {
			if got := reaches(of, labels[to], port); got != want[from+" "+to] {
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
