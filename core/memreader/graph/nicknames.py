"""Short forms of given names: what people of a name are usually called, too."""

from __future__ import annotations

_SHORT = """
    alexander:alex,al,xander,sasha alexandra:alex,sandra,sasha,lexi andrew:andy,drew anthony:tony antonio:toni,tony
    barbara:barb benjamin:ben,benny beatrice:bea catherine:cathy,cat,kate charles:charlie,chuck
    charlotte:charlie,lottie christina:tina,chris christine:chris,tina christopher:chris daniel:dan,danny
    david:dave,davy deborah:deb,debbie donald:don dorothy:dot edward:ed,eddie,ted,ned
    elizabeth:liz,lizzie,beth,betty,eliza,ellie,lisa eleanor:ellie,nora emily:em,emmy evelyn:evie frances:fran
    francis:frank francisco:paco,frank franklin:frank frederick:fred,freddie gabriel:gabe gregory:greg
    gerald:gerry,jerry henry:harry,hank isabella:bella,izzy isabel:izzy,bella jacob:jake jacqueline:jackie
    james:jim,jimmy,jamie janet:jan jeffrey:jeff jennifer:jen,jenny jeremy:jerry jessica:jess,jessie john:jack,johnny
    jonathan:jon,jonny joseph:joe,joey joshua:josh judith:judy julia:jules katherine:kate,kathy,katie,kat
    kathleen:kathy,kate kathryn:kate,kathy kenneth:ken,kenny kimberly:kim lawrence:larry leonard:leo,len,lenny
    lillian:lily louis:lou,louie louise:lou madison:maddie margaret:maggie,meg,peggy,greta,margie matthew:matt
    megan:meg melanie:mel melissa:mel,missy michael:mike,mick,mikey miguel:mike nathan:nate nathaniel:nate,nathan
    nicholas:nick,nico nicole:nikki oliver:ollie olivia:liv,livvy pamela:pam patricia:pat,patty,trish
    patrick:pat,paddy penelope:penny peter:pete philip:phil phillip:phil rachel:rach raymond:ray rebecca:becca,becky
    richard:rick,rich,dick,richie robert:bob,bobby,rob,robbie,bert roberto:beto ronald:ron,ronnie samantha:sam,sammy
    samuel:sam,sammy sarah:sally,sadie sebastian:seb,bastian sophia:sophie stephanie:steph steven:steve stephen:steve
    susan:sue,susie suzanne:sue,suzy teresa:terry,tess theresa:terry,tess theodore:ted,theo,teddy thomas:tom,tommy
    timothy:tim,timmy valerie:val veronica:ronnie,vera victor:vic victoria:vicky,tori vincent:vince,vinny
    virginia:ginny walter:walt william:will,bill,billy,liam zachary:zach,zack francesca:fran,franca giovanni:gianni
    alejandro:alex,ale aleksandr:sasha,alex dmitri:dima mikhail:misha anastasia:nastya,ana maria:masha ekaterina:katya
    vladimir:vova,vlad ivan:vanya jose:pepe mohammed:mo mohamed:mo muhammad:mo
"""

FORMS: dict[str, tuple[str, ...]] = {
    name: tuple(short.split(",")) for name, short in (entry.split(":") for entry in _SHORT.split())
}
"""Given name -> its short forms, lower case."""
