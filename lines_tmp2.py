import sys, json, collections
sys.path.insert(0,'.')
from tests.floors import *
alls=every_answer()
which=sys.argv[1].split(','); every=int(sys.argv[2]); out=sys.argv[3]
sel=[a for a in alls if a.corpus in which and not a.right][::every]
judged=judge_all(sel,2)
n=len(judged); near=[j for j in judged if j.is_near]; placed=[j for j in judged if j.found.line and j.answer.faults]; miss=[j for j in placed if j.answer.misses(j.found.line)]
print(which,n,'near',len(near),'placed',len(placed),'elsewhere',len(miss),'false names',sum(j.is_false for j in judged))
for j in miss: print(j.answer.corpus,j.answer.exercise,j.answer.name,j.found.line,sorted(j.answer.faults)[:5],j.found.mistakes,j.found.message[-110:])
open(out,'w').writelines(json.dumps(row_of(j)|{'faults':sorted(j.answer.faults),'near':j.is_near})+'\n' for j in judged)
