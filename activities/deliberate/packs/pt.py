"""Portuguese, as it is written in Brazil and in Portugal. Accents may be left out."""

from activities.deliberate.packs.pack import Pack
from activities.deliberate.targets import Target

_PICTURE = (
    "(imagem|imagens|foto|fotos|desenho|desenhos|ilustração|pintura|retrato|arte|logo|logotipo"
    "|avatar|meme|wallpaper|papel de parede)"
)
_CLIP = "(vídeo|vídeos|clipe|animação)"
_MAKE = "(gera|gere|gerar|cria|crie|criar|faz|faça|fazer|faz me|manda|mande|produz|produza)"
_MESSAGE = "(mensagem|mensagens|msg|post|postagem|comentário)"
_MEMBER = "(ele|ela|eles|elas|esse usuário|esse cara|essa pessoa|este usuário|@user)"
_UNIT = (
    "(s|seg|segundo|segundos|m|min|minuto|minutos|h|hora|horas|dia|dias|semana|semanas|mês|meses)"
)

PACK = Pack(
    intents={
        Target.IMAGE: [
            "(desenha|desenhe|desenhar|pinta|pinte|ilustra|ilustre) (me|pra|para|um|uma|o|a|esse"
            "|essa|isso|algo|você|eu)",
            f"{_MAKE} (me|pra mim|para mim|) (um|uma|outra|outro|mais uma|a|o|umas) (nova|novo|) "
            f"{_PICTURE}",
            f"(gera|gere|gerar|cria|crie|criar) {_PICTURE}",
            "(manda|mande|tira|tire|mostra) (uma|outra) selfie",
            "(edita|edite|editar|transforma|transforme) (a|essa|esta|o|esse|minha|isso) … "
            f"{_PICTURE}",
        ],
        Target.VIDEO: [
            f"{_MAKE} (me|pra mim|para mim|) (um|uma|outro|outra|mais um) … {_CLIP}",
            f"(gera|gere|gerar|cria|crie|criar) {_CLIP}",
            "(anima|anime) (isso|essa|esse|esta|este|a imagem|a foto|o desenho)",
        ],
        Target.VOICE: [
            "(mensagem|mensagens|nota|recado) de (voz|áudio)",
            "(manda|mande|grava|grave|envia|envie|faz|faça) (me|pra mim|para mim|) (um|outro|em) "
            "(áudio|voz)",
            "(fala|fale|diz|diga|lê|leia|responde|responda|canta|cante) … (em voz alta|com sua voz"
            "|com a sua voz|por áudio|em áudio)",
            "(ouvir|escutar) (a|) (sua|tua) voz",
            "(canta|cante) (pra|para|uma|um|a|essa|isso)",
        ],
        Target.REMINDER: [
            "(me|nos) (lembra|lembre|lembrar|avisa|avise|avisar|acorda|acorde|acordar) (de|do|da|em"
            "|às|as|daqui|amanhã|hoje|quando|para|pra|que|disso|a|todo|toda|todos)",
            "(lembra|lembre|avisa|avise|acorda|acorde) me",
            "(lembrete|lembretes)",
            "(cria|crie|criar|põe|coloca|coloque|define|defina|ajusta) … (alarme|timer|despertador"
            "|temporizador|cronômetro)",
            f"(daqui a|daqui|em) # {_UNIT} … (lembra|lembre|avisa|avise|chama|chame|acorda|acorde)",
            "(lembra|lembre|avisa|avise|chama|chame|acorda|acorde|fala|fale) … (daqui a|daqui|em) "
            "# "
            f"{_UNIT}",
            "(todo|toda|todos|todas) (os|as|) (dia|dias|manhã|noite|semana|hora|segunda|terça"
            "|quarta"
            "|quinta|sexta|sábado|domingo) … (lembra|lembre|avisa|avise|manda|mande|posta|poste)",
            "(não me deixa|não me deixe) esquecer",
            "(agenda|agende|agendar|reagendar|reagenda) (isso|um|uma|o|a|para|pra)",
            "(tarefa|tarefas) (agendada|agendadas|recorrente|recorrentes)",
        ],
        Target.CROSS_CHANNEL: [
            "(vai|vá|ir|passa|passe) (no|na|ao|lá no|até o|para o|pro|em) (canal|@channel)",
            "(fala|fale|diz|diga|pergunta|pergunte|avisa|avise|posta|poste|escreve|escreva|manda"
            "|mande|anuncia|anuncie) … (no|em|ao|para o|pro|outro) (canal|outro canal|@channel)",
            "(olha|olhe|vê|veja|lê|leia|dá uma olhada|confere|confira) … (no|em|o) (canal|outro "
            "canal"
            "|@channel)",
            "(em|no|para|pra) outro canal",
        ],
        Target.SEARCH: [
            "(pesquisa|pesquise|pesquisar|busca|busque|procura|procure|procurar|buscar) … (na|no"
            "|pela) (internet|web|google|net|rede|online)",
            "(pesquisa|pesquise|pesquisar) (sobre|por|isso|o|a|os|as|pra|para|quem|qual|quando|como"
            "|onde)",
            "(busca|busque|procura|procure) (por|sobre|informação|informações|notícias|online)",
            "(faz|faça|fazer) uma (pesquisa|busca)",
            "(googla|dá um google|joga no google)",
            "(últimas|ultimas|novas|notícias|novidades) (notícias|novidades|sobre|de|do|da|sobre)",
            "(quais|qual) (são|é|as|a) … (notícias|notícia|previsão|cotação|clima)",
            "(previsão do tempo|como está o tempo|como tá o tempo|cotação do|preço atual)",
            "(abre|abra|lê|leia|resume|resuma|acessa|acesse|visita) (esse|este|essa|esta|o|a) (link"
            "|site|página|artigo|url)",
        ],
        Target.MEMORY: [
            "(esquece|esqueça|apaga|apague|remove|remova|atualiza|atualize|corrige|corrija|edita"
            "|edite) … (memória|memórias|lembrança|lembranças)",
            "(esquece|esqueça) (o que|tudo|que eu)",
            "(sua|suas|tua|tuas) (memória|memórias|lembranças)",
            "(o que|que) (você|vc|tu) (sabe|lembra|sabes) (sobre|de) (mim|ele|ela|nós|@user)",
            "(a partir de agora|de agora em diante|daqui pra frente)",
        ],
        Target.MEDIA_ANALYSIS: [
            "(lê|leia|ler|resume|resuma|analisa|analise|explica|explique|traduz|traduza|abre|abra"
            "|descreve|descreva|vê|veja|olha|olhe) (o|a|os|as|esse|essa|este|esta|meu|minha|isso) "
            "… "
            "(arquivo|arquivos|ficheiro|pdf|documento|anexo|imagem|foto|print|gif|vídeo|desenho"
            "|captura de tela)",
            "(o que|que|quem) (tem|está|tá|é|diz|há|aparece) … (nessa|nesse|nesta|neste|na|no) "
            "(imagem|foto|print|gif|vídeo|arquivo|pdf|documento|desenho)",
            "(imagem|foto|arquivo|gif) (anterior|de antes|mais antiga|mais antigo)",
            "(foto de perfil|imagem de perfil|foto do perfil)",
        ],
        Target.MESSAGE_ACTION: [
            "(fixa|fixe|fixar|desafixa|desfixa|desafixe|pina|pine) (isso|essa|esta|a|minha|sua|o)",
            "(apaga|apague|apagar|deleta|delete|deletar|exclui|exclua|remove|remova|edita|edite"
            "|editar|corrige|corrija) (a|as|essa|esta|minha|sua|tua|última|aquela|o) (última|) "
            f"{_MESSAGE}",
            "(apaga|apague|deleta|delete|edita|edite) o que (você|vc|tu) (disse|falou|escreveu"
            "|mandou)",
            "(reage|reaja|reagir) (a|à|ao|com|nessa|nisso|isso|essa)",
            "(coloca|coloque|bota|põe|deixa|adiciona|adicione) (uma|a) reação",
            f"(responde|responda|responder) (a|à|essa|esta|aquela|minha) {_MESSAGE}",
            "(quando|que horas) … (enviou|enviei|mandou|mandei|foi enviada|escreveu|disse"
            f"|{_MESSAGE[1:-1]})",
        ],
        Target.USER_BLOCKING: [
            "(bloqueia|bloqueie|bloquear|desbloqueia|desbloqueie|desbloquear|silencia|silencie"
            f"|silenciar|muta|mute|mutar|desmuta|ignora|ignore|ignorar) (o|a|) {_MEMBER}",
            f"(para|pare) de (falar|responder|conversar) (com|para|pra|a|) {_MEMBER}",
            f"não (fale|fala|responda|responde|converse) (mais|) (com|para|pra|a|) {_MEMBER}",
        ],
        Target.USER_INFO: [
            "me (chama|chame|chamar) (de|por|só)",
            "(pode|podem) me chamar",
            "(meu nome|meu apelido|meus pronomes|meu fuso|meu fuso horário)",
            "(muda|mude|mudar|altera|altere|troca|troque|define|defina) … (nome|apelido|pronomes"
            "|fuso horário|fuso)",
            "(uso|usa|use) (os|) pronomes",
        ],
        Target.THREAD: [
            "(cria|crie|criar|abre|abra|abrir|começa|comece|faz|faça) (um|uma|o|a|outra|outro) … "
            "(thread|tópico)",
        ],
        Target.CAPABILITIES: [
            "o que (é que|) (você|vc|tu) (pode|podes|consegue|consegues|sabe) (fazer|me ajudar)",
            "(quais|que) (são|) (as|os|) (suas|seus|tuas|teus) (funções|habilidades|comandos"
            "|capacidades|recursos|ferramentas|configurações)",
            "(suas|tuas) (habilidades|capacidades|funções|configurações)",
            "(lista|liste|mostra|mostre|explica|explique) (me|) (os|as|seus|suas) … (comandos"
            "|funções|habilidades|recursos|ferramentas|configurações)",
            "(quais|que) (comandos|ferramentas|recursos|funções) (você|vc|tu|existem|tem|há)",
            "como (eu|) (uso|usar|configuro|configurar|ativo|desativo) (você|vc|o bot|isso|esse bot"
            "|esta função|essa função)",
        ],
    },
    memory=[
        "lembre se",
        "se lembre",
        "(lembra|lembre) (que|disso|disto)",
        "(não|nunca) (se|) (esqueça|esquece|esqueças|esquecer)",
        "(guarda|guarde|grava|grave|salva|salve) (isso|isto|na|em|que|essa|esta)",
        "(anota|anote|anotar) (aí|isso|isto|que|por favor)",
        "(memoriza|memorize|memorizar|decora|decore) (isso|isto|que|essa|esta|meu|minha|o|a)",
        "(toma|tome) nota",
        "tenha em mente",
        "(para|pra) referência futura",
        "(para|pra) o futuro",
    ],
    self_diagnosis=[
        "(por que|porque|pq|porquê) (você|vc|tu) (não|parou|está|tá|falhou|travou|ignorou)",
        "(por que|porque|pq) (não|isso não|o bot não) (está|tá|) (funciona|funcionou|funcionando"
        "|responde|respondeu)",
        "(o que|que) (aconteceu|há|houve|tem|deu) (de errado|errado|) com você",
        "(você|vc|tu) (está|tá|estás) (quebrado|quebrada|bugado|bugada|travado|travada|com problema"
        "|com problemas|funcionando|com defeito)",
        "(se diagnostica|diagnostique se|autodiagnóstico|faz um diagnóstico|faça um diagnóstico)",
        "(qual|que) (foi o|é o|) (seu|) (erro|problema) (você|vc|seu|teve|deu|aconteceu)",
        "(verifica|verifique|confere|confira) (suas|as suas) (configurações|permissões|logs)",
    ],
    link_requests=[
        "(lê|leia|ler|abre|abra|resume|resuma|resumo|resumir|vê|veja|olha|olhe|explica|explique"
        "|traduz|traduza|analisa|analise|acessa|acesse|confere|confira)",
        "(o que|quem|qual|quais|como|quando|onde|por que|acha|achou|opinião|diz|fala|artigo|página"
        "|site)",
    ],
    follow_up=[
        "(faz|faça|tenta|tente|manda|mande|gera|gere|desenha|desenhe|pesquisa|pesquise) (isso|ele"
        "|ela|o mesmo|a mesma|mais uma|) (de novo|novamente|outra vez|vez)",
        "(de novo|novamente|outra vez|mais uma vez)",
        "(o mesmo|a mesma|mesma coisa|mesmo) (mas|só que|de novo|com|para|pra|coisa)",
        "mesma coisa",
        "(mais|outro|outra) (um|uma|desse|dessa|assim|igual)",
        "(agora|mas|só que) (com|sem|em|de|mais|menos|faz|faça)",
        "(refaz|refaça|repete|repita|regenera|regenere)",
        "(pode|podes) (fazer|ser|mandar) (isso|sim|por favor)",
        "(sim|ok|claro) (por favor|pode|faz|faça)",
        "(e|que tal) (agora|com|sem|um|uma|outro|outra) (em|de|no|na|*)",
    ],
    brief_follow_up=[
        "(por favor|pfv|pf|porfa|porfavor|favor)",
        "(outra|outro|mais|mais um|mais uma|de novo|repete|continua|bis)",
        "(sim|claro|pode|pode ser|faz|faça|vai)",
    ],
    sayings=["(em|na) busca de", "lembra quando"],
)
