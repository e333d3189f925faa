"""Lines on samples: known every 12th, mutants, people."""
import sys, json, collections
sys.path.insert(0,'.')
from tests import floors
from tests.floors import *
every=int(sys.argv[1]) if len(sys.argv)>1 else 12
out=sys.argv[2] if len(sys.argv)>2 else None
alls=every_answer()
known=[a for a in alls if a.corpus=='known'][::every]
mut=[a for a in alls if a.corpus=='mutant']
people=[a for a in alls if a.corpus in PEOPLE and not a.right]
pairs=[a for a in alls if a.corpus=='pairs'][::8]
judged=judge_all(known+mut+people+pairs, int(sys.argv[3]) if len(sys.argv)>3 else 1)
by=collections.defaultdict(list)
for j in judged: by[j.answer.corpus if j.answer.corpus not in PEOPLE else 'people'].append(j)
for k,v in by.items():
    n=len(v); near=sum(j.is_near for j in v); miss=sum(bool(j.found.line) and j.answer.misses(j.found.line) for j in v if j.answer.faults)
    none=sum(j.found.line is None for j in v); placed=sum(bool(j.found.line and j.answer.faults) for j in v)
    print(k,n,'near',near,'%.3f'%(near/n),'elsewhere',miss,'of placed',placed,'none',none,'before near',sum(1 for j in v if j.before.get('line') and not j.answer.misses(j.before['line'])))
if out:
    with open(out,'w') as f:
        for j in judged: f.write(json.dumps(row_of(j)|{'faults':sorted(j.answer.faults),'near':j.is_near})+'\n')
