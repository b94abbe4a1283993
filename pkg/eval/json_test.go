package eval_test

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestDecodeExact(t *testing.T) {
	type result struct {
		IsError bool      `json:"isError"`
		Content eval.JSON `json:"content,omitempty"`
		ID      *int      `json:"id"`
	}
	tests := []struct {
		name, in string
		isError  bool
		content  string
		fails    bool
	}{
		{name: "exact", in: `{"isError":true,"content":[1],"id":7}`, isError: true, content: "[1]"},
		{name: "another case is another member", in: `{"IsError":true,"CONTENT":[1]}`},
		{name: "the exact one wins, wherever it stands", in: `{"isError":true,"ISERROR":false}`, isError: true},
		{name: "null", in: `null`},
		{name: "no object", in: `[1]`, fails: true},
		{name: "a wrong type", in: `{"isError":"yes"}`, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got result
			err := eval.DecodeExact([]byte(tt.in), &got)
			if (err != nil) != tt.fails || got.IsError != tt.isError || string(got.Content) != tt.content {
				t.Errorf("got %+v, %v; want isError %t, content %q, failure %t", got, err, tt.isError, tt.content, tt.fails)
			}
		})
	}
}
