package catalog
import ("testing";"strings";"fmt";"time";"os";"github.com/evalfarm/evalfarm/pkg/eval")
func TestZZ(t *testing.T){
 var tool string
 switch os.Getenv("K") {
 case "deep": n:=300; fmt.Sscan(os.Getenv("N"),&n); tool=input(strings.Repeat(`{"type":"object","properties":{"`+strings.Repeat("n",90)+`":`,n)+`{}`+strings.Repeat(`}}`,n))
 case "wide": n:=100000; fmt.Sscan(os.Getenv("N"),&n)
 var b strings.Builder; b.WriteString(`{"type":"object","properties":{`)
 for i:=range n { if i>0 {b.WriteString(",")}; fmt.Fprintf(&b,`"p%d":{"type":"string"}`,i)}; b.WriteString("}}"); tool=input(b.String())
 case "many": tool=strings.Repeat(`{},`,1000000)+`{}`
 case "refs": n:=3000; fmt.Sscan(os.Getenv("N"),&n)
 var r strings.Builder; r.WriteString(`{"type":"object","properties":{`)
 for i:=range n { if i>0 {r.WriteString(",")}; fmt.Fprintf(&r,`"p%d":{"$ref":"#/$defs/d%d"}`,i,i)}; r.WriteString(`},"$defs":{`)
 for i:=range n { if i>0 {r.WriteString(",")}; fmt.Fprintf(&r,`"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#"}}}`,i,(i+1)%n)}; r.WriteString("}}"); tool=input(r.String())
 }
  for _,ru:=range rules(){ s:=time.Now(); l:=read(page(tool)); p:=time.Since(s); s=time.Now(); ru.find(l,eval.Catalog{}); if d:=time.Since(s); d>50*time.Millisecond {t.Log(ru.name,len(tool),"parse",p,"rule",d)} }
}
