package farmfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

func TestTargets(t *testing.T) {
	f, err := farmfile.Load("testdata/good/notifications.yaml", farmfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unless := []eval.Occasion{eval.OnFail, eval.OnError, eval.OnInconclusive}
	want := []eval.Target{
		{Name: "commits", On: []eval.Occasion{eval.OnAlways}, GitHubStatus: &eval.GitHubStatus{
			Repository: "evalfarm/evalfarm", Token: "${{ secrets.GITHUB_TOKEN }}", Context: "evalfarm", APIURL: "https://api.github.com",
		}},
		{Name: "enterprise", On: []eval.Occasion{eval.OnPass, eval.OnFail}, GitHubStatus: &eval.GitHubStatus{
			Repository: "a/b.c", Token: "${{ secrets.GHE }}", Context: "evals / nightly", APIURL: "https://ghe.example.com/api/v3",
		}},
		{Name: "hidden", On: unless, Webhook: &eval.Webhook{URL: "${{ secrets.WEBHOOK_URL }}", Secret: "${{ secrets.WEBHOOK_SECRET }}"}},
		{Name: "hook-in-the-clear", On: []eval.Occasion{eval.OnChange}, Webhook: &eval.Webhook{URL: "http://receiver:8080/", Secret: "${{ secrets.WEBHOOK_SECRET }}"}},
		{Name: "implicit", On: unless, Email: &eval.Email{Host: "mail.example.com", Port: 465, From: "a@b", To: []string{"c@d"}, TLS: eval.MailImplicit}},
		{Name: "mail", On: unless, Email: &eval.Email{
			Host: "mail.example.com", Port: 587, User: "farm", Password: "${{ secrets.SMTP_PASSWORD }}",
			From: "Farm <farm@example.com>", To: []string{"a@example.com", "B <b@example.com>"}, TLS: eval.MailSTARTTLS,
		}},
		{
			Name: "on-call", On: []eval.Occasion{eval.OnFail, eval.OnError}, Suites: []string{"nightly-*", "weekly"},
			Link:    "https://farm.example.com/runs/{run}?suite={suite}",
			Webhook: &eval.Webhook{URL: "https://hooks.example.com/evalfarm?team=desk", Secret: "${{ secrets.WEBHOOK_SECRET }}"},
		},
		{Name: "relay", On: []eval.Occasion{eval.OnAlways}, Email: &eval.Email{Host: "::1", Port: 2525, From: "a@b", To: []string{"c@d"}, TLS: eval.MailPlain}},
		{Name: "stub", On: []eval.Occasion{eval.OnInconclusive, eval.OnPass}, Slack: &eval.Slack{URL: "http://127.0.0.1:9/services/x"}},
		{Name: "team", On: unless, Local: true, Slack: &eval.Slack{URL: "${{ secrets.SLACK_URL }}"}},
	}
	if diff := cmp.Diff(want, f.Targets); diff != "" {
		t.Errorf("targets differ (-want +got):\n%s", diff)
	}
}
