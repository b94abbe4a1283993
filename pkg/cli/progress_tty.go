package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// panelFPS is how often the panel is redrawn at most.
const panelFPS = 20

// ttyProgress keeps a panel at the bottom of the terminal and prints failures
// and notes above it. It reads no input, so that Ctrl-C stays a signal and
// nothing of what a person types is lost, and it asks the terminal no question,
// whose answer would land in the shell.
type ttyProgress struct {
	env    ProgressEnv
	paint  palette
	screen *screen
	// width of the terminal, as last heard.
	width atomic.Int64
	// done is closed when the panel's program has ended.
	done chan struct{}

	mu      sync.Mutex // guards what follows and the order of lines
	program *tea.Program
	pace    pace
}

func newTTYProgress(env ProgressEnv, out terminal) *ttyProgress {
	t := &ttyProgress{
		env:    env,
		paint:  newPalette(env.Color),
		screen: &screen{terminal: out, drawn: make(chan struct{})},
		done:   make(chan struct{}),
	}
	t.width.Store(int64(env.Width))
	return t
}

func (t *ttyProgress) Start(r RunInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.program != nil {
		return
	}
	t.print(fit(t.env.Width, append([]string{t.paint.bold.Render(clean(r.Suite)), clean(r.Run)}, sizes(r)...)))
	t.program = tea.NewProgram(
		live{panel: panel{status: Status{Total: r.Trials}, now: t.env.Now()}, paint: t.paint, width: &t.width, height: panelRest + panelFirst},
		tea.WithInput(nil),
		tea.WithOutput(t.screen),
		tea.WithoutSignalHandler(),
		tea.WithFPS(panelFPS),
		tea.WithWindowSize(t.env.Width, panelRest+panelFirst),
		tea.WithEnvironment(t.environ()),
	)
	go func() {
		defer close(t.done)
		if _, err := t.program.Run(); err != nil {
			fmt.Fprintf(t.env.Stderr, "progress: %v\n", err)
		}
	}()
	// A line printed above a panel that was never drawn lands anywhere.
	select {
	case <-t.screen.drawn:
	case <-t.done:
	}
}

func (t *ttyProgress) Result(f Finished) {
	if !notable(f.Verdict) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.paint.verdict(f.Verdict, mark(f.Verdict)) + " " + trialName(f.Case, f.Variant, f.Repeat) + "  " + explain(f)
	width := int(t.width.Load())
	t.print(clip(line, width))
	// A narrow terminal goes without: the report has it.
	if link := "  " + address(f.TraceURL); f.TraceURL != "" && lipgloss.Width(link) <= width {
		t.print(t.paint.dim.Render(link))
	}
}

func (t *ttyProgress) Tick(s Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.program == nil {
		return
	}
	eta, known := t.pace.eta(s)
	t.program.Send(panel{status: s, eta: eta, known: known, now: t.env.Now()})
}

func (t *ttyProgress) Note(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(lipgloss.Wrap(clean(s), int(t.width.Load()), ""))
}

func (t *ttyProgress) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.program == nil {
		return
	}
	t.program.Send(stop{})
	<-t.done
	t.program = nil
}

// print writes lines above the panel, or plainly where there is none. None may
// be wider than the terminal: the panel's place is counted in rows.
func (t *ttyProgress) print(lines string) {
	if t.program != nil {
		select {
		case <-t.done:
		default:
			// As a message and not by Println, which would wait for ever on a
			// program that has just ended.
			t.program.Send(tea.Println(lines)())
			return
		}
	}
	fmt.Fprintln(t.env.Stderr, lines)
}

// environ gives the panel what says how many colours the terminal has, and
// nothing that says whether to use them: that is decided.
func (t *ttyProgress) environ() []string {
	var list []string
	for _, name := range []string{"TERM", "COLORTERM", "TERM_PROGRAM", "TMUX", "STY", "WT_SESSION"} {
		if v, ok := t.env.Lookup(name); ok {
			list = append(list, name+"="+v)
		}
	}
	return list
}

// live is the panel as bubbletea's model. It takes panels, sizes and stop.
type live struct {
	panel   panel
	paint   palette
	width   *atomic.Int64
	height  int
	stopped bool
}

// stop asks the model to remove the panel and to end.
type stop struct{}

func (l live) Init() tea.Cmd { return nil }

func (l live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case panel:
		l.panel = msg
	case tea.WindowSizeMsg:
		l.width.Store(int64(msg.Width))
		l.height = msg.Height
	case stop:
		l.stopped = true
		return l, tea.Quit
	}
	return l, nil
}

func (l live) View() tea.View {
	var v tea.View
	if !l.stopped {
		v.SetContent(l.panel.view(int(l.width.Load()), l.height, l.paint))
	}
	v.DisableBracketedPasteMode = true
	return v
}

// A terminal is a file such as os.Stderr: with a descriptor, the panel learns of
// the terminal's size.
type terminal interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// A screen is a terminal that tells when the panel was first drawn.
type screen struct {
	terminal
	once  sync.Once
	drawn chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	n, err := s.terminal.Write(b)
	s.once.Do(func() { close(s.drawn) })
	return n, err
}
