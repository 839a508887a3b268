"""Kinds of work that are surely different: "engineer" and "developer" may be one job, "nurse" and "teacher" are two."""

from __future__ import annotations

_KINDS = """
teacher professor lecturer tutor educator instructor schoolteacher principal 老师 教师 教授 讲师 助教 班主任 校长 \
辅导员
nurse doctor physician surgeon dentist pharmacist paramedic pediatrician psychiatrist veterinarian vet 护士 医生 大夫 \
医师 牙医 药剂师 兽医 护理员
lawyer attorney solicitor judge paralegal prosecutor notary 律师 法官 检察官 法务
engineer developer programmer architect scientist researcher analyst technician designer administrator consultant \
manager 工程师 程序员 开发者 架构师 科学家 研究员 分析师 技术员 设计师 经理 产品经理 顾问 主管 总监
chef cook baker waiter waitress bartender barista 厨师 面包师 服务员 调酒师 咖啡师
accountant clerk bookkeeper auditor banker cashier 会计 审计师 出纳
driver chauffeur courier pilot 司机 快递员 飞行员 外卖员
writer journalist editor reporter novelist author translator poet 作家 记者 编辑 翻译
actor actress singer musician dancer painter sculptor photographer 演员 歌手 音乐家 舞者 画家 摄影师
police policeman policewoman firefighter soldier guard 警察 消防员 军人 保安
carpenter plumber electrician mechanic welder builder bricklayer 木工 水管工 电工 机修工 焊工
farmer gardener fisherman florist 农民 园丁 渔民
student 学生 大学生 研究生 高中生
""".strip().splitlines()
_KIND_OF = {word: number for number, line in enumerate(_KINDS) for word in line.split()}
_LONGEST = max(map(len, _KIND_OF))


def kind_of_job(title: str) -> int | None:
    """Return a number for the kind of work that a title names, lower case; None for what is no job that we know.

    >>> kind_of_job("software engineer") == kind_of_job("developer"), kind_of_job("hero")
    (True, None)
    """
    words = title.split()
    if words and words[-1] in _KIND_OF:
        return _KIND_OF[words[-1]]
    ends = (title[-length:] for length in range(min(len(title), _LONGEST), 1, -1) if not title.isascii())
    return next((_KIND_OF[end] for end in ends if end in _KIND_OF), None)
